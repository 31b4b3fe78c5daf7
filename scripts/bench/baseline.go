//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// What a tracer can't do with less: be called, and read the clock.
var (
	emptyProgram = asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
	clockProgram = asm.Instructions{asm.FnKtimeGetBootNs.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return()}
)

// A baseline is one such program on some hooks. What others cost is compared with it.
type baseline struct {
	programs []*ebpf.Program
	links    []link.Link
}

// attachBaseline attaches a program to hooks that are named as the probes' ways are: tp_btf/sys_exit.
func attachBaseline(instructions asm.Instructions, hooks ...string) (*baseline, error) {
	b := &baseline{}
	for _, hook := range hooks {
		if err := b.add(instructions, hook); err != nil {
			return nil, errors.Join(fmt.Errorf("attaching to %s: %w", hook, err), b.Close())
		}
	}
	return b, nil
}

func (b *baseline) add(instructions asm.Instructions, hook string) error {
	kind, target, _ := strings.Cut(hook, "/")
	types := map[string]ebpf.AttachType{"tp_btf": ebpf.AttachTraceRawTp, "fexit": ebpf.AttachTraceFExit}
	if _, ok := types[kind]; !ok {
		return fmt.Errorf("there is no baseline for %s", kind)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "baseline", Type: ebpf.Tracing, AttachType: types[kind], AttachTo: target, License: "GPL", Instructions: instructions,
	})
	if err != nil {
		return err
	}
	b.programs = append(b.programs, program)
	l, err := link.AttachTracing(link.TracingOptions{Program: program})
	if err != nil {
		return err
	}
	b.links = append(b.links, l)
	return nil
}

func (b *baseline) Close() (err error) {
	for _, l := range b.links {
		err = errors.Join(err, l.Close())
	}
	for _, p := range b.programs {
		err = errors.Join(err, p.Close())
	}
	return err
}

// costs are those of each program, in the order of the hooks.
func (b *baseline) costs() ([]programCost, error) {
	var costs []programCost
	for _, p := range b.programs {
		stats, err := p.Stats()
		if err != nil {
			return nil, err
		}
		costs = append(costs, programCost{float64(stats.RunCount), float64(stats.Runtime)})
	}
	return costs, nil
}

// baselineTracer is a baseline as something to run beside a load.
func baselineTracer(name string, instructions asm.Instructions, hooks ...string) *tracer {
	return &tracer{name: name, attach: func() (io.Closer, error) { return attachBaseline(instructions, hooks...) }}
}

// measureBaseline attaches a baseline while a load runs.
func measureBaseline(instructions asm.Instructions, hooks []string, argv ...string) ([]programCost, error) {
	b, err := attachBaseline(instructions, hooks...)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if _, _, _, err := load(argv...); err != nil {
		return nil, err
	}
	return b.costs()
}

//go:build linux

package main

import (
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// A clockProgram is the least that a tracer of switches can do: read the clock. What others cost is
// compared with it.
type clockProgram struct {
	program *ebpf.Program
	link    link.Link
}

func attachClock() (*clockProgram, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "clock_only", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "sched_switch", License: "GPL",
		Instructions: asm.Instructions{asm.FnKtimeGetBootNs.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, err
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: program})
	if err != nil {
		program.Close()
		return nil, err
	}
	return &clockProgram{program, l}, nil
}

func (c *clockProgram) close() {
	c.link.Close()
	c.program.Close()
}

// perRun is the mean run time while the kernel's BPF statistics were on.
func perRun(p *ebpf.Program) (time.Duration, error) {
	stats, err := p.Stats()
	if err != nil || stats.RunCount == 0 {
		return 0, err
	}
	return stats.Runtime / time.Duration(stats.RunCount), nil
}

// hasBTF tells whether the clock program can be attached at all.
func hasBTF() bool {
	_, err := btf.LoadKernelSpec()
	return err == nil
}

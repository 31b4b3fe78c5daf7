//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
)

// An idleCost is what happened in a window of time in which nobody did anything.
type idleCost struct {
	window     float64 // seconds
	switches   float64 // of the tracer's threads onto a CPU
	cpu        float64 // of the tracer, seconds
	programs   float64 // of BPF programs, seconds
	interrupts float64 // of the whole machine
}

// benchIdle measures what the recorder costs a machine that does nothing.
func benchIdle(s *setup) error {
	setStats, restore, err := switchStats()
	if err != nil {
		return err
	}
	defer restore()
	if err := setStats(true); err != nil {
		return err
	}
	window := time.Duration(s.scaled(30, 1)) * time.Second
	file := s.file("idle.bst")
	tracers := []*tracer{
		{name: "nothing"},
		{name: "bootscope record", output: file, command: s.recordArgs(file)},
		{name: "bootscope idle", command: []string{s.bootscope, "idle", "--duration", (window + 10*time.Second).String()}},
		{name: "perf record, the same events", output: s.file("idle.data"),
			command: []string{"perf", "record", "-q", "-B", "-a", "-F", "199", "-e", bootscopesEvents, "-o", s.file("idle.data")}},
	}
	result := table{title: fmt.Sprintf("An idle machine, %.0f s each", window.Seconds()),
		columns: []string{"tracer", "tracer's wake-ups per second", "tracer's CPU, s per hour", "BPF programs, s per hour", "interrupts of the machine per second"}}
	for _, t := range tracers {
		cost, err := t.idleCost(window)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if t.missing != "" {
			result.addMissing(t.name, t.missing)
			continue
		}
		result.add(t.name, fmt.Sprintf("%.2f", cost.switches/cost.window), fmt.Sprintf("%.2f", 3600*cost.cpu/cost.window), fmt.Sprintf("%.2f", 3600*cost.programs/cost.window),
			fmt.Sprintf("%.0f", cost.interrupts/cost.window))
	}
	result.print()
	return nil
}

// idleCost lets a tracer run alone.
func (t *tracer) idleCost(window time.Duration) (idleCost, error) {
	r, err := t.start()
	if err != nil || r == nil {
		return idleCost{}, err
	}
	pid := 0
	if r.cmd != nil {
		pid = r.cmd.Process.Pid
	}
	time.Sleep(settle) // starting is another table's
	begin, before := time.Now(), readIdle(pid)
	time.Sleep(window)
	after := readIdle(pid)
	cost := idleCost{time.Since(begin).Seconds(), after.switches - before.switches, after.cpu - before.cpu, after.programs - before.programs, after.interrupts - before.interrupts}
	_, err = r.stop()
	return cost, err
}

// readIdle counts until now.
func readIdle(pid int) (c idleCost) {
	text, _ := os.ReadFile("/proc/stat")
	_, rest, _ := strings.Cut(string(text), "\nintr ")
	total, _, _ := strings.Cut(rest, " ")
	c.programs = programTime()
	c.interrupts, _ = strconv.ParseFloat(total, 64)
	if pid == 0 {
		return c
	}
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	tasks, _ := os.ReadDir(dir)
	for _, task := range tasks {
		n, _ := strconv.ParseFloat(valueIn(dir+task.Name()+"/status", "voluntary_ctxt_switches"), 64)
		c.switches += n
	}
	c.cpu = cpuOf(pid).Seconds()
	return c
}

// programTime is the run time of all BPF programs of the machine since the statistics were switched on.
func programTime() (sum float64) {
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		program, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // it has just ended
		}
		if stats, err := program.Stats(); err == nil {
			sum += stats.Runtime.Seconds()
		}
		program.Close()
	}
	return sum
}

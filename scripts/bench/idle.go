//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// An idleCost is what happened in a window of time in which nobody did anything.
type idleCost struct {
	window     float64 // seconds
	switches   float64 // of the tracer's threads onto a CPU
	cpu        float64 // of the tracer, seconds
	interrupts float64 // of the whole machine
}

// benchIdle measures what the recorder costs a machine that does nothing.
func benchIdle(s *setup) error {
	window := time.Duration(s.scaled(45, 2)) * time.Second
	file := s.file("idle.bst")
	tracers := []*tracer{
		{name: "nothing"},
		{name: "bootscope record", output: file, command: s.recordArgs(file)},
		{name: "bootscope idle", command: []string{s.bootscope, "idle", "--duration", (window + 10*time.Second).String()}},
		{name: "perf record, the same events", output: s.file("idle.data"),
			command: []string{"perf", "record", "-q", "-a", "-F", "199", "-e", bootscopesEvents, "-o", s.file("idle.data")}},
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
		programs := "-"
		if t.output == file {
			if programs, err = programsPerHour(file); err != nil {
				return err
			}
		}
		result.add(t.name, fmt.Sprintf("%.2f", cost.switches/cost.window), fmt.Sprintf("%.2f", 3600*cost.cpu/cost.window), programs,
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
	cost := idleCost{time.Since(begin).Seconds(), after.switches - before.switches, after.cpu - before.cpu, after.interrupts - before.interrupts}
	_, err = r.stop()
	return cost, err
}

// readIdle counts until now.
func readIdle(pid int) (c idleCost) {
	text, _ := os.ReadFile("/proc/stat")
	_, rest, _ := strings.Cut(string(text), "\nintr ")
	total, _, _ := strings.Cut(rest, " ")
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

// programsPerHour is the run time of the programs, as the trace extrapolates it.
func programsPerHour(file string) (string, error) {
	trailer, err := readTrailer(file)
	if err != nil {
		return "", err
	}
	for _, p := range trailer.Programs {
		if p.Measured > 0 {
			measured := float64(p.Measured) / 1e9
			return fmt.Sprintf("%.2f", 3600*costOf(trailer, "").ns/1e9/measured), nil
		}
	}
	return "not measured", nil
}

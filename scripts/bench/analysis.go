//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/bootscope/bootscope/tracer/event"
)

// An analysis is a program that reads a whole recording.
type analysis struct {
	name   string
	argv   []string
	events float64
	rounds int

	wall, cpu sample // seconds
	memory    sample // largest resident set, bytes
}

// run runs it; what it prints goes nowhere.
func (a *analysis) run() error {
	cmd := exec.Command(a.argv[0], a.argv[1:]...)
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w", a.argv, err)
	}
	a.wall = append(a.wall, time.Since(begin).Seconds())
	a.cpu = append(a.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	a.memory = append(a.memory, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)*1024)
	return nil
}

// benchAnalysis measures report on a million events and on ten, and perf script printing a million.
func benchAnalysis(s *setup) error {
	small, err := s.reportOn(s.scaled(250_000, 1000), s.rounds)
	if err != nil {
		return err
	}
	large, err := s.reportOn(s.scaled(2_500_000, 10_000), s.atMost(3))
	if err != nil {
		return err
	}
	all := []*analysis{small, large}
	if perf, err := s.perfScript(s.scaled(250_000, 1000)); err != nil {
		fmt.Fprintf(output, "\nNo comparison with perf script: %v\n", err)
	} else {
		all = append(all, perf)
	}
	for _, a := range all {
		for range a.rounds {
			if err := a.run(); err != nil {
				return err
			}
		}
	}
	printAnalyses(all)
	s.aimAnalyses(small, large, all[2:])
	return nil
}

// reportOn records about four events for each turn of a ping-pong.
func (s *setup) reportOn(turns, rounds int) (*analysis, error) {
	file := s.file("analysis-" + strconv.Itoa(turns) + ".bst")
	if _, err := s.record(file, nil, pingPong(turns)...); err != nil {
		return nil, err
	}
	events, err := countEvents(file)
	return &analysis{name: "report", argv: []string{s.bootscope, "report", file}, events: events, rounds: rounds}, err
}

func (s *setup) perfScript(turns int) (*analysis, error) {
	file := s.file("analysis.data")
	argv := append([]string{"perf", "record", "-q", "-B", "-a", "-e", "sched:sched_switch,sched:sched_waking", "-o", file, "--"}, pingPong(turns)...)
	if _, _, _, err := load(argv...); err != nil {
		return nil, err
	}
	_, _, text, err := load("sh", "-c", "perf script -i "+file+" 2>/dev/null | wc -l")
	if err != nil {
		return nil, err
	}
	var events float64
	if _, err := fmt.Sscan(text, &events); err != nil {
		return nil, err
	}
	return &analysis{name: "perf script", argv: []string{"perf", "script", "-i", file}, events: events, rounds: s.atMost(3)}, nil
}

func printAnalyses(all []*analysis) {
	result := table{title: fmt.Sprintf("Analysis, with %d CPUs", runtime.NumCPU()),
		columns: []string{"program", "events", "wall, s", "CPU, s", "wall per million events, s", "largest resident set, MB", "the events decoded, MB"}}
	for _, a := range all {
		decoded := "-"
		if a.argv[0] != "perf" {
			decoded = fmt.Sprintf("%.0f", a.decoded()/1e6)
		}
		result.add(a.name, fmt.Sprintf("%.0f", a.events), a.wall.text("%.2f"), a.cpu.text("%.2f"),
			fmt.Sprintf("%.3f", a.wall.median()/a.events*1e6), fmt.Sprintf("%.0f", a.memory.median()/1e6), decoded)
	}
	result.print()
}

// decoded is how much memory a's events would take if all were kept, in bytes.
func (a *analysis) decoded() float64 { return a.events * float64(unsafe.Sizeof(event.Switch{})) }

func (s *setup) aimAnalyses(small, large *analysis, others []*analysis) {
	s.aim(fmt.Sprintf("Time of report for %.2f times the events", large.events/small.events), "at most 11 times for 10 times",
		fmt.Sprintf("%.2f times the wall time, %.2f times the CPU time", large.wall.median()/small.wall.median(), large.cpu.median()/small.cpu.median()))
	s.aim("Memory of report on the larger recording, to its events decoded", "less than 1", fmt.Sprintf("%.2f", large.memory.median()/large.decoded()))
	for _, perf := range others {
		s.aim("Time of perf script for as many events, to report's", "at least 10 times",
			fmt.Sprintf("%.1f times the wall time, %.1f times the CPU time", (perf.wall.median()/perf.events)/(small.wall.median()/small.events),
				(perf.cpu.median()/perf.events)/(small.cpu.median()/small.events)))
	}
}

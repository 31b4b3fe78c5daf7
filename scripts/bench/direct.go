//go:build linux

package main

import "fmt"

// directCosts are shares of a load's CPU time, in per cent.
type directCosts struct {
	programs, bookkeeping, recorder sample
	startup                         sample  // seconds
	perRun                          float64 // that the statistics take themselves, ns
}

// direct accounts for what bootscope takes, where differences of wall time drown in noise: run time of
// its programs by the kernel's statistics (a run of its own: they cost, too) and the recorder's CPU time
// while it records, over the CPU time that the load took.
func (s *setup) direct(title string, rounds int, prepare func() error, script string) error {
	setStats, restore, err := switchStats()
	if err != nil {
		return err
	}
	defer restore()
	costs := directCosts{perRun: statsBookkeeping(setStats)}
	for range rounds {
		for _, stats := range []bool{true, false} {
			if err := setStats(stats); err != nil {
				return err
			}
			if prepare != nil {
				if err := prepare(); err != nil {
					return err
				}
			}
			if err := s.directOnce(&costs, stats, script); err != nil {
				return err
			}
		}
	}
	costs.print(title, rounds)
	return nil
}

func (s *setup) directOnce(costs *directCosts, stats bool, script string) error {
	trailer, cpu, err := s.record(s.file("direct.bst"), nil, "sh", "-c", script)
	if err != nil {
		return err
	}
	busy := cpu - float64(trailer.Self.CPU)/1e9
	percent := func(ns float64) float64 { return 100 * ns / 1e9 / busy }
	if stats {
		all := costOf(trailer, "")
		costs.programs = append(costs.programs, percent(all.ns))
		costs.bookkeeping = append(costs.bookkeeping, percent(all.runs*costs.perRun))
		return nil
	}
	costs.recorder = append(costs.recorder, percent(float64(trailer.Self.CPU-trailer.Self.StartCPU)))
	costs.startup = append(costs.startup, float64(trailer.Self.StartCPU)/1e9)
	return nil
}

// statsBookkeeping is how long an empty program takes by the statistics: what they take themselves.
func statsBookkeeping(setStats func(bool) error) (ns float64) {
	if setStats(true) != nil {
		return 0
	}
	costs, err := measureBaseline(emptyProgram, []string{sysExitHook}, loadArgs("calls", "300000")...)
	if err != nil || costs[0].runs == 0 {
		return 0
	}
	return costs[0].ns / costs[0].runs
}

func (c *directCosts) print(title string, rounds int) {
	result := table{title: fmt.Sprintf("%s: direct accounting, in per cent of the load's CPU time, %d rounds", title, rounds),
		columns: []string{"BPF programs", "of that, the statistics' own", "recorder", "together", "once, to start"}}
	result.add(c.programs.text("%.2f"), c.bookkeeping.text("%.2f"), c.recorder.text("%.2f"),
		fmt.Sprintf("%.2f", c.programs.median()+c.recorder.median()), c.startup.text("%.3f")+" s of CPU")
	result.print()
}

//go:build linux

package main

import (
	"fmt"
	"os"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// directCosts are shares of the time that the machine's CPUs were busy, in per cent.
type directCosts struct {
	programs, bookkeeping, recorder sample
	ends                            sample  // of recorder: to begin and to end, whatever comes in between
	startup                         sample  // seconds
	perRun                          float64 // that the statistics take themselves, ns
}

// direct accounts for what bootscope takes, where differences of wall time drown in noise: run time of
// its programs by the kernel's statistics (a run of its own: they cost, too) and the recorder's CPU time
// while it records, over the time that the CPUs were busy otherwise: programs run for the whole machine.
func (s *setup) direct(title, wanted string, rounds int, prepare func() error, script string) error {
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
	if wanted != "" {
		s.aim(title+": BPF programs and recorder, to the time that the CPUs were busy", wanted,
			fmt.Sprintf("%.2f %%; %.2f %% without what recording /bin/true takes", costs.together(), costs.together()-costs.ends.median()))
	}
	return nil
}

func (s *setup) directOnce(costs *directCosts, stats bool, script string) error {
	before, err := busyTime()
	if err != nil {
		return err
	}
	trailer, err := s.record(s.file("direct.bst"), nil, "sh", "-c", script)
	if err != nil {
		return err
	}
	busy, err := busyTime()
	if err != nil {
		return err
	}
	busy -= before + float64(trailer.Self.CPU)/1e9
	percent := func(ns float64) float64 { return 100 * ns / 1e9 / busy }
	if stats {
		all := costOf(trailer, "")
		costs.programs = append(costs.programs, percent(all.ns))
		costs.bookkeeping = append(costs.bookkeeping, percent(all.runs*costs.perRun))
		return nil
	}
	costs.recorder = append(costs.recorder, percent(afterStart(trailer)))
	costs.startup = append(costs.startup, float64(trailer.Self.StartCPU)/1e9)
	if trailer, err = s.record(s.file("direct.bst"), nil, "/bin/true"); err != nil {
		return err
	}
	costs.ends = append(costs.ends, percent(afterStart(trailer)))
	return nil
}

func (c *directCosts) together() float64 { return c.programs.median() + c.recorder.median() }

// afterStart is the recorder's CPU time since everything was attached, in ns.
func afterStart(trailer *tracefile.Trailer) float64 {
	return float64(trailer.Self.CPU - trailer.Self.StartCPU)
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

// busyTime is how long the CPUs of this machine have worked since it was started, in seconds.
func busyTime() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var user, nice, system, idle, wait, irq, softirq float64
	if _, err := fmt.Sscanf(string(text), "cpu %f %f %f %f %f %f %f", &user, &nice, &system, &idle, &wait, &irq, &softirq); err != nil {
		return 0, fmt.Errorf("/proc/stat: %w", err)
	}
	return (user + nice + system + irq + softirq) / 100, nil // in hundredths of a second on every architecture
}

func (c *directCosts) print(title string, rounds int) {
	result := table{title: fmt.Sprintf("%s: direct accounting, in per cent of the time that the CPUs were busy, %d rounds", title, rounds),
		columns: []string{"BPF programs", "of that, the statistics' own", "recorder", "of that, as for /bin/true", "together", "once, to start"}}
	result.add(c.programs.text("%.2f"), c.bookkeeping.text("%.2f"), c.recorder.text("%.2f"), c.ends.text("%.2f"),
		fmt.Sprintf("%.2f", c.together()), c.startup.text("%.3f")+" s of CPU")
	result.print()
}

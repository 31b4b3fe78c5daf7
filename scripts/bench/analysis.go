//go:build linux

package main

import (
	"fmt"
	"runtime"
	"time"
)

// benchAnalysis measures report on a trace with a known number of events, and on one with ten times as many.
func benchAnalysis(s *setup) error {
	result := table{title: "Analysis: report, on " + fmt.Sprint(runtime.NumCPU()) + " CPUs",
		columns: []string{"events", "file, MB", "wall, s", "events per s"}}
	for _, loops := range []int{s.scaled(170_000, 1000), s.scaled(1_700_000, 10_000)} {
		file := s.file("analysis.bst")
		if _, _, _, err := load(s.bootscope, "record", "--force", "-o", file, "--without", without("sched", "process"), "--",
			"perf", "bench", "sched", "pipe", "-l", fmt.Sprint(loops)); err != nil {
			return err
		}
		_, records, _, size, err := readCosts(file)
		if err != nil {
			return err
		}
		var walls sample
		for range s.rounds {
			begin := time.Now()
			if _, _, _, err := load(s.bootscope, "report", file); err != nil {
				return err
			}
			walls = append(walls, time.Since(begin).Seconds())
		}
		result.add(fmt.Sprint(records), fmt.Sprintf("%.1f", float64(size)/1e6), fmt.Sprintf("%.2f (%s)", walls.median(), walls.spread("%.2f")),
			fmt.Sprintf("%.1f million", float64(records)/walls.median()/1e6))
	}
	result.print()
	return nil
}

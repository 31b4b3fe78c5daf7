//go:build linux

package main

import "fmt"

// A callLoad is a tight loop of one system call.
type callLoad struct {
	name  string
	calls int
	argv  []string
}

// benchCall measures the time that a call takes, as the load itself tells, with each tracer in turn. The first is
// none at all. What the others add is put beside what one of them adds.
func (s *setup) benchCall(l callLoad, beside string, tracers []*tracer) error {
	rounds := s.atMost(5)
	result := table{title: fmt.Sprintf("%s, %d times, %d rounds", l.name, l.calls, rounds),
		columns: []string{"tracer", "wall per call, ns", "added, ns", "CPU time per call, ns", "added, ns", "added, to what " + beside + " adds"}}
	if err := turns(rounds, tracers, nil, l.argv...); err != nil {
		return err
	}
	nothing, base := tracers[0].told, 0.0
	for _, t := range tracers {
		if t.name == beside && t.missing == "" {
			base = t.told.cpu.minus(nothing.cpu).median()
		}
	}
	for _, t := range tracers {
		if t.missing != "" {
			result.addMissing(t.name, t.missing)
			continue
		}
		added, ratio := t.told.cpu.minus(nothing.cpu), "-"
		if t != tracers[0] && base > 0 {
			ratio = fmt.Sprintf("%.2f", added.median()/base)
		}
		result.add(t.name, t.told.wall.text("%.0f"), t.told.wall.minus(nothing.wall).text("%.0f"), t.told.cpu.text("%.0f"), added.text("%.0f"), ratio)
	}
	result.print()
	return nil
}

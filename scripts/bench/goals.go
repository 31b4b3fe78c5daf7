//go:build linux

package main

// A goal is what recording was meant to cost at most, beside what was measured.
type goal struct{ what, wanted, measured string }

// aim notes a goal for the table of all goals.
func (s *setup) aim(what, wanted, measured string) {
	s.goals = append(s.goals, goal{what, wanted, measured})
}

// printGoals lists the goals of the tables that were made before.
func printGoals(s *setup) error {
	result := table{columns: []string{"what", "goal", "measured"}}
	for _, g := range s.goals {
		result.add(g.what, g.wanted, g.measured)
	}
	result.print()
	return nil
}

package report

import (
	"fmt"
	"strings"
	"time"
)

// A Budget is how long a phase of the boot may take, or how long after the kernel's start a milestone may
// be reached.
type Budget struct {
	Name  string
	Limit uint64
}

// ParseBudget reads NAME=DURATION.
func ParseBudget(text string) (b Budget, err error) {
	name, limit, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return b, fmt.Errorf("budget %q: write NAME=DURATION, such as kernel=1.5s", text)
	}
	d, err := time.ParseDuration(limit)
	if err != nil || d < 0 {
		return b, fmt.Errorf("budget %q: %q is no duration, such as 1.5s or 800ms", text, limit)
	}
	return Budget{name, uint64(d)}, nil
}

// A Spending is a budget with what was taken of it.
type Spending struct {
	Budget
	Took  uint64
	Known bool // else it did not end, or was not reached, or was not recorded: nobody can say that it kept to it
}

// Over tells whether it was more than the budget, or may have been.
func (s Spending) Over() bool { return !s.Known || s.Took > s.Limit }

// Spend compares budgets with the boot.
func (r *Report) Spend(budgets []Budget) []Spending {
	took := map[string]uint64{}
	for _, m := range r.Milestones {
		if _, ok := took[m.Name]; !ok {
			took[m.Name] = m.Time
		}
	}
	for _, p := range r.Phases() {
		delete(took, p.Name)
		if p.Ended {
			took[p.Name] = uint64(p.End - p.Start)
		}
	}
	var list []Spending
	for _, b := range budgets {
		ns, known := took[b.Name]
		list = append(list, Spending{b, ns, known})
	}
	return list
}

// budget writes each against its budget.
func (t *text) budget() {
	if len(t.r.Spending) == 0 {
		return
	}
	t.line("%9s %9s %9s  %s", "took", "budget", "over by", "phase or milestone")
	for _, s := range t.r.Spending {
		over := "-"
		switch {
		case !s.Known:
			over = "not known"
		case s.Over():
			over = seconds(s.Took - s.Limit)
		}
		t.line("%9s %9s %9s  %s", secondsOr(s.Took, s.Known), seconds(s.Limit), over, printable(s.Name))
	}
}

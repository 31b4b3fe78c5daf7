package findings

import (
	"fmt"
	"strings"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// governor looks for a frequency governor that changes speed all the time: each change stops the CPU for a
// while, and at idle it gains nothing.
type governor struct{ timeline.Discard }

// The thresholds. A governor that follows a load changes a few times a second.
const (
	minChangeRate = 20.0
	minChanges    = 50 // in all: a short recording is no evidence
)

// Find implements Detector.
func (governor) Find(r *Recording) []Finding {
	if !r.Can.CPUFreq {
		return nil
	}
	var found []Finding
	for _, p := range r.Policies {
		if changes := r.perSecond(p.Transitions); p.Transitions >= minChanges && changes >= minChangeRate {
			found = append(found, r.thrash(p, changes))
		}
	}
	return found
}

func (r *Recording) thrash(p *timeline.FreqPolicy, changes float64) Finding {
	f := Finding{
		ID:    "governor-thrash",
		Title: fmt.Sprintf("the CPU frequency changes %s (%s)", rate(changes), p.Name),
		Evidence: []string{fmt.Sprintf("%s, governor %s: %d changes in %s", p.Name, orUnknown(p.Governor), p.Transitions,
			seconds(r.Duration()))},
		Remedy: governorRemedy(p),
	}
	var times []string
	for _, t := range p.Times {
		times = append(times, fmt.Sprintf("%.0f MHz %.1f %%", float64(t.KHz)/1e3, 100*float64(t.Time)/float64(max(r.Duration(), 1))))
	}
	f.Evidence = append(f.Evidence, "time at each frequency: "+strings.Join(times, ", "))
	if th := r.GovernorThread(p); th != nil {
		f.Cost = th.Times[timeline.Running]
		f.Evidence = append(f.Evidence, fmt.Sprintf("its thread %s takes %s", th.Name(), r.share(f.Cost)))
	}
	return f
}

func governorRemedy(p *timeline.FreqPolicy) string {
	try := "compare with others (bootscope idle --compare-governors performance," + orUnknown(p.Governor) + ")"
	switch p.Governor {
	case "schedutil":
		return "raise /sys/devices/system/cpu/cpufreq/schedutil/rate_limit_us (or that of " + p.Name + "), and " + try
	case "ondemand", "conservative":
		return "raise sampling_rate or sampling_down_factor of " + p.Governor + ", and " + try
	case "":
		return "compare governors: bootscope idle --compare-governors performance,schedutil"
	}
	return try
}

func orUnknown(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}

package findings

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// entropy looks for programs that waited in getrandom: it only ever blocks until the kernel's random number
// generator has been seeded for the first time. There is no such wait on a machine that is up, so a tenth of
// a second (minCost) is reported.
type entropy struct {
	timeline.Discard
	waits
}

func newEntropy() *entropy { return &entropy{waits: waits{}} }

// Interval implements timeline.IntervalSink.
func (x *entropy) Interval(iv *timeline.Interval) {
	if iv.Class == timeline.RandomCall {
		x.add(iv)
	}
}

// Find implements Detector.
func (x *entropy) Find(*Recording) []Finding {
	var all []stretch
	f := Finding{
		ID:    "entropy-wait",
		Title: "programs wait for the kernel's first random numbers",
		Remedy: "give the kernel a seed early: a hardware random number generator whose driver is built in, " +
			"random.trust_cpu=on or random.trust_bootloader=on on its command line, a seed from the boot loader, " +
			"or SYSTEMD_RANDOM_SEED_CREDIT=1 for systemd-random-seed.service",
	}
	for _, w := range x.byProgram() {
		all = append(all, w.when...)
		if len(f.Evidence) < named {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%s waited %s in getrandom, until %s",
				w.name(), seconds(w.time()), seconds(w.when[len(w.when)-1].end)))
		}
	}
	if f.Cost = length(union(all)); f.Cost < minCost {
		return nil
	}
	return []Finding{f}
}

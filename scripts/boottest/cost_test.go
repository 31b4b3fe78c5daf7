//go:build vmtest

package boottest

import (
	"flag"
	"slices"
	"testing"
	"time"
)

var rounds = flag.Int("rounds", 1, "boots with and without the recorder that TestCost compares")

// TestCost boots in turn with and without the recorder, and prints what it changed. It fails only on what
// can't be noise: an emulated machine on a busy one is no place to measure one per cent.
func TestCost(t *testing.T) {
	var with, without []bootCost
	for range *rounds {
		without = append(without, measure(t, &boot{name: "cost-without"}))
		with = append(with, measure(t, &boot{name: "cost-with", install: []string{"--hold=100s"}}))
	}
	a, b := median(without), median(with)
	t.Logf("systemd finished after %.1f s without and %.1f s with the recorder (median of %d); CPU time until then %.1f s and %.1f s",
		a.userspace.Seconds(), b.userspace.Seconds(), *rounds, a.busy.Seconds(), b.busy.Seconds())
	if b.userspace > 2*a.userspace {
		t.Errorf("the boot took more than twice as long")
	}
}

type bootCost struct{ userspace, busy time.Duration }

func measure(t *testing.T, b *boot) bootCost {
	t.Helper()
	b.run(t)
	_, userspace := analyzeTime(t, b.text(t, "out/analyze-time"))
	return bootCost{userspace, busyTime(t, b.text(t, "out/stat"))}
}

// median takes each figure's own.
func median(costs []bootCost) bootCost {
	middle := func(of func(bootCost) time.Duration) time.Duration {
		var values []time.Duration
		for _, c := range costs {
			values = append(values, of(c))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return bootCost{middle(func(c bootCost) time.Duration { return c.userspace }), middle(func(c bootCost) time.Duration { return c.busy })}
}

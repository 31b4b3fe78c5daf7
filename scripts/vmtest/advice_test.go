//go:build vmtest

package vmtest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// checkAdvice tests which options bootscope check names on a kernel that was built here: for each probe that could do
// better some, and none that the kernel has. So where all is there that --kernel-config asks for, all is at its best.
func checkAdvice(t *testing.T, r *run) {
	const said = "best.check"
	var check struct {
		Probes []struct {
			tracefile.ProbeStatus
			Config []string
		}
	}
	if err := json.Unmarshal(r.results[said], &check); err != nil {
		t.Fatalf("bootscope check: %v:\n%s", err, r.results[said])
	}
	for _, p := range check.Probes {
		best := p.Status == tracefile.StatusOn && p.Via == record.WaysOf(p.Name)[0]
		if best != (len(p.Config) == 0) {
			t.Errorf("check names %q for %s, which is %s via %q", p.Config, p.Name, p.Status, p.Via)
		}
		if p.Status == tracefile.StatusOff && p.Reason == "" {
			t.Errorf("check doesn't say why %s is off", p.Name)
		}
		for _, option := range p.Config {
			if !slices.Contains(r.guest.built.without, option) {
				t.Errorf("check says that %s lacks %s, which this kernel has", p.Name, option)
			}
		}
	}
	if len(check.Probes) != len(record.ProbeNames()) {
		t.Errorf("check tells of %d probes", len(check.Probes))
	}
}

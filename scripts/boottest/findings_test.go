//go:build vmtest

package boottest

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// found is a finding as report --json has it.
type found struct {
	ID   string  `json:"id"`
	Cost float64 `json:"cost_s"`
	Unit string  `json:"unit"`
}

// problem is a planted one with its cost, which a service logged, and how much less may be found.
type problem struct {
	found
	less float64
}

// checkFindings tests that each planted problem is found, and that its cost is what the service itself logged.
func checkFindings(t *testing.T, b *boot, recording string) {
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "report", "--json", recording).Output()
	if err != nil {
		t.Fatalf("report --json: %v", err)
	}
	var report struct{ Findings []found }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	for _, want := range b.planted(t) {
		cost := costOf(report.Findings, want.ID, want.Unit)
		if cost < (1-want.less)*want.Cost || cost > 1.1*want.Cost {
			t.Errorf("%s of %s costs %.3f s, it says itself %.3f s", want.ID, want.Unit, cost, want.Cost)
			continue
		}
		t.Logf("%s of %s: %.3f s, it says itself %.3f s", want.ID, want.Unit, cost, want.Cost)
	}
	checkHeavyImport(t, b, recording, report.Findings)
}

// checkHeavyImport compares the import of the web framework with what the service itself measured. The
// finding may name a part of it, the module that is heavy, so it costs no more than the whole.
func checkHeavyImport(t *testing.T, b *boot, recording string, findings []found) {
	var heavy struct {
		Begun    float64 `json:"begun_s"`
		Imported float64 `json:"imported_s"`
	}
	b.truth(t, "heavy-api", &heavy)
	all := heavy.Imported - heavy.Begun
	if cost := costOf(findings, "heavy-import", "heavy-api.service"); cost <= 0 || cost > 1.1*all {
		t.Errorf("heavy-import of heavy-api.service costs %.3f s of %.3f s", cost, all)
	}
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "imports", "--json", "--unit", "heavy-api.service", recording).Output()
	if err != nil {
		t.Fatalf("imports --json: %v", err)
	}
	var imports struct {
		Interpreters []struct {
			Modules []struct {
				Name       string
				Cumulative float64 `json:"cumulative_s"`
			}
		}
	}
	if err := json.Unmarshal(out, &imports); err != nil {
		t.Fatal(err)
	}
	for _, interpreter := range imports.Interpreters {
		for _, m := range interpreter.Modules {
			if m.Name != "fastapi" {
				continue
			}
			if m.Cumulative < 0.9*all || m.Cumulative > 1.1*all {
				t.Errorf("importing fastapi took %.3f s, the service itself says %.3f s", m.Cumulative, all)
			}
			t.Logf("importing fastapi took %.3f s, the service itself says %.3f s", m.Cumulative, all)
			return
		}
	}
	t.Error("no import of fastapi was found in heavy-api.service")
}

// planted are the problems with the costs that the services logged.
func (b *boot) planted(t *testing.T) []problem {
	var server struct {
		Listening float64 `json:"listening_s"`
	}
	var client struct {
		Connected float64 `json:"connected_s"`
	}
	var fork struct {
		Workers []struct {
			Import float64 `json:"import_s"`
		}
	}
	b.truth(t, "late-server", &server)
	b.truth(t, "back-off", &client)
	b.truth(t, "fork-app", &fork)
	again := 0.0 // by all workers but one, who would have to import it in any case
	for _, w := range fork.Workers {
		again += w.Import * float64(len(fork.Workers)-1) / float64(len(fork.Workers))
	}
	return []problem{
		// TimeoutStartSec. Until it waits, it is at work or wants a CPU, as all do then, for some of it twice: a shell is
		// blocked while its child wants one.
		{found{"unit-wait", 20, "net-wait.service"}, 0.4},
		{found{"backoff-sleep", client.Connected - server.Listening, "back-off.service"}, 0.1},
		{found{"forkserver-reimport", again, "fork-app.service"}, 0.1},
	}
}

// costOf is the largest cost of a kind of finding in a unit, 0 if there is none.
func costOf(findings []found, id, unit string) (cost float64) {
	for _, f := range findings {
		if f.ID == id && f.Unit == unit {
			cost = max(cost, f.Cost)
		}
	}
	return cost
}

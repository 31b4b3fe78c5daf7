//go:build vmtest

package boottest

import (
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// checkBackOff compares how long the client slept past the server's coming with what both logged.
func checkBackOff(t *testing.T, b *boot, tr *trace) {
	var server struct {
		PID       uint32
		Listening float64 `json:"listening_s"`
	}
	var client struct {
		PID       uint32
		Attempts  int
		Connected float64 `json:"connected_s"`
	}
	b.truth(t, "late-server", &server)
	b.truth(t, "back-off", &client)
	var listening, connected uint64
	refused := 0
	for _, s := range tr.sockets {
		switch {
		case s.PID == server.PID && s.Call == uint16(event.SocketListen):
			listening = s.Time
		case s.PID != client.PID || s.Call != uint16(event.SocketConnect) || elsewhere(&s):
		case s.Result < 0:
			refused++
		default:
			connected = s.Time
		}
	}
	slept, truth := float64(connected-listening)/1e9, client.Connected-server.Listening
	if refused != client.Attempts-1 || slept < 0.9*truth || slept > 1.1*truth {
		t.Errorf("%d times refused, connected %.2f s after it listened; they say %d and %.2f s", refused, slept, client.Attempts-1, truth)
	}
}

// elsewhere tells of a connect to another socket than the server's.
func elsewhere(s *event.Socket) bool {
	path, _, _ := strings.Cut(string(s.TailBytes()), "\x00")
	return path != "/run/late.socket"
}

// checkImports tests that each worker of the fork server was seen to import the application anew.
func checkImports(t *testing.T, b *boot, tr *trace) {
	var heavy struct{ PID uint32 }
	var fork struct{ Workers []struct{ PID uint32 } }
	b.truth(t, "heavy-api", &heavy)
	b.truth(t, "fork-app", &fork)
	opened := func(pid uint32, what string) bool {
		return slices.ContainsFunc(tr.opens[pid], func(path string) bool { return strings.Contains(path, what) })
	}
	if !opened(heavy.PID, "/fastapi/__pycache__/applications.") {
		t.Errorf("process %d didn't open fastapi; it opened %d files", heavy.PID, len(tr.opens[heavy.PID]))
	}
	for _, w := range fork.Workers {
		if !opened(w.PID, "/pydantic/") {
			t.Errorf("worker %d didn't open pydantic; it opened %d files", w.PID, len(tr.opens[w.PID]))
		}
	}
	if len(fork.Workers) != 3 {
		t.Errorf("%d workers", len(fork.Workers))
	}
}

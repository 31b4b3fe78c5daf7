//go:build linux && kerneltest

package record_test

import (
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A trace is what was recorded.
type trace struct {
	*tracefile.File
	events   []event.Event          // in order, without switches and wakings: they are too many to keep
	paths    map[uint64]*event.Path // of files, by id
	switches int
	wakings  int
}

func readTrace(t *testing.T, file string) *trace {
	t.Helper()
	f, err := tracefile.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	decoder, err := event.NewDecoder(event.Specs)
	if err != nil {
		t.Fatal(err)
	}
	tr := &trace{File: f, paths: map[uint64]*event.Path{}}
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch event.Kind(e.Head().Kind) {
		case event.KindSwitch:
			tr.switches++
			continue
		case event.KindWaking:
			tr.wakings++
			continue
		}
		kept, _, err := decoder.Next(e.AppendTo(nil)) // an event is valid until the next one only
		if err != nil {
			t.Fatal(err)
		}
		tr.events = append(tr.events, kept)
		if p, ok := kept.(*event.Path); ok {
			tr.paths[p.File] = p
		}
	}
	return tr
}

// readWhole reads a trace that must be whole.
func readWhole(t *testing.T, file string) *trace {
	t.Helper()
	tr := readTrace(t, file)
	if tr.Trailer() == nil || len(tr.Problems()) > 0 {
		t.Fatalf("the trace is not whole: trailer %v, problems %v", tr.Trailer(), tr.Problems())
	}
	return tr
}

// timeline builds the model of the trace.
func (tr *trace) timeline(t *testing.T, sinks ...timeline.Sink) *timeline.Timeline {
	t.Helper()
	tl, err := timeline.Build(tr.File, sinks...)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// lost returns how many events of a probe were lost for a reason.
func (tr *trace) lost(probe event.Probe, reason event.LostReason) (n uint64) {
	for _, l := range tr.Trailer().Lost {
		if l.Probe == probe.String() && l.Reason == reason.String() {
			n += l.Count
		}
	}
	return n
}

// checkNothingLost fails the test if events were lost that it will miss.
func (tr *trace) checkNothingLost(t *testing.T) {
	t.Helper()
	if lost := tr.Trailer().Lost; len(lost) > 0 {
		t.Errorf("events were lost: %+v", lost)
	}
}

// probe returns what became of a probe.
func (tr *trace) probe(t *testing.T, id event.Probe) tracefile.ProbeStatus {
	t.Helper()
	for _, p := range tr.Header().Probes {
		if p.Name == id.String() {
			return p
		}
	}
	t.Fatalf("the header doesn't tell of probe %s: %+v", id, tr.Header().Probes)
	return tracefile.ProbeStatus{}
}

// of returns the events of a type that a process (0: any) had, in order.
func of[E event.Event](tr *trace, pid int) (found []E) {
	for _, e := range tr.events {
		if e, ok := e.(E); ok && (pid == 0 || int(e.Head().PID) == pid) {
			found = append(found, e)
		}
	}
	return found
}

// byPID groups the events of a type by process.
func byPID[E event.Event](tr *trace) map[int][]E {
	groups := map[int][]E{}
	for _, e := range of[E](tr, 0) {
		pid := int(e.Head().PID)
		groups[pid] = append(groups[pid], e)
	}
	return groups
}

// process returns the model's process with an id, which must have had one life only.
func process(t *testing.T, tl *timeline.Timeline, pid int) *timeline.Process {
	t.Helper()
	var found []*timeline.Process
	for _, p := range tl.Processes {
		if int(p.PID) == pid {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		for _, p := range found {
			t.Errorf("process %d lived from %d to %d (%d threads, existed: %v, execs: %d)", pid, p.Start, p.End, len(p.Threads), p.Existed, len(p.Execs))
		}
		t.Fatalf("the model has %d processes with id %d, want 1", len(found), pid)
	}
	return found[0]
}

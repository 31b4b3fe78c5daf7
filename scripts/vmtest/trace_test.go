//go:build vmtest

package vmtest

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A workload is what guest/workload.py knows of itself.
type workload struct {
	PID           uint32    `json:"pid"`
	Argv          []string  `json:"argv"`
	CompiledFiles []string  `json:"compiled_files"`
	Stack         [2]uint64 `json:"stack"`
	CPU           float64   `json:"cpu_s"`
	MinorFaults   uint64    `json:"minor_faults"`
}

// checkMode compares a recording with what is expected of the kernel and with what the program said.
func checkMode(t *testing.T, r *run, m mode) {
	if status := strings.TrimSpace(string(r.results[m.name+".status"])); status != "0" {
		t.Fatalf("bootscope record ended with status %s:\n%s", status, r.results[m.name+".stderr"])
	}
	var w workload
	if err := json.Unmarshal(r.results[m.name+".json"], &w); err != nil {
		t.Fatalf("what the program printed: %v", err)
	}
	data := r.results[m.name+".bst"]
	f, err := tracefile.NewReader(bytes.NewReader(data), int64(len(data)), m.name+".bst")
	if err != nil {
		t.Fatal(err)
	}
	opens := &openSink{pid: w.PID}
	tl, err := timeline.Build(f, opens)
	if err != nil {
		t.Fatal(err)
	}
	via := r.guest.via(m)
	if diff := cmp.Diff(via, attached(f.Header())); diff != "" {
		t.Errorf("probes (-expected +attached):\n%s\n%s", diff, reasons(f.Header(), via))
	}
	missing := checkWhole(t, tl, r.guest)
	checkLives(t, tl)
	p := processOf(tl, w.PID)
	if p == nil {
		t.Fatalf("process %d is not in the trace", w.PID)
	}
	checkProcess(t, p, &w)
	checkOpens(t, opens.opens, &w, missing)
	t.Logf("%d events in %d bytes, attached in %d ms", tl.Events, len(data), f.Trailer().Self.Attach/1e6)
}

// checkWhole tests that the trace has an end and lost no more than has to be. It returns how many opens
// may be missing.
func checkWhole(t *testing.T, tl *timeline.Timeline, g guest) (missing uint64) {
	if !tl.Complete() {
		t.Fatal("the trace has no end")
	}
	for _, l := range tl.Losses {
		if !g.mayMiss(l) && l.Count != 0 || l.Count > tl.Events/20 {
			t.Errorf("%d events of %s were lost: %s; %d were recorded", l.Count, l.Probe, l.Reason, tl.Events)
		}
		if l.Probe != event.ProbeSched.String() {
			missing += l.Count
		}
	}
	if s := tl.Trailer.ExitStatus; s == nil || *s != 0 {
		t.Errorf("the trace has exit status %v for the command, expected 0", s)
	}
	return missing
}

// mayMiss tells whether a loss is one that a program can't help: on a preemptible kernel, or where an
// interrupt wakes a task while the program already looks at another wake-up.
func (g guest) mayMiss(l timeline.Loss) bool {
	skipped := l.Reason == event.LostSkipped.String()
	if l.Probe == event.ProbeSched.String() && skipped {
		return true
	}
	return g.preemptible && (skipped || l.Reason == event.LostNested.String())
}

// checkLives tests what must hold for every thread: it is always in one state.
func checkLives(t *testing.T, tl *timeline.Timeline) {
	for _, th := range tl.Threads {
		const slack = 1e6
		lived := th.End - max(th.Start, tl.Start)
		if sum := th.Times.Sum(); max(sum, lived)-min(sum, lived) > slack {
			t.Errorf("thread %d (%s): its states last %d ns, its life %d ns", th.TID, th.Comm, sum, lived)
		}
	}
}

func processOf(tl *timeline.Timeline, pid uint32) *timeline.Process {
	for _, p := range tl.Processes {
		if p.PID == pid && !p.Existed {
			return p
		}
	}
	return nil
}

func checkProcess(t *testing.T, p *timeline.Process, w *workload) {
	if diff := cmp.Diff(w.Argv, p.Argv); diff != "" {
		t.Errorf("arguments (-given +recorded):\n%s", diff)
	}
	if !p.Ended || len(p.Execs) != 1 || path.Base(p.Execs[0].Name) != "python3" {
		t.Errorf("process %d: ended %v, execs %+v; expected one of python3 and an end", p.PID, p.Ended, p.Execs)
	}
	// It goes on running for some time after it has looked at itself. By its switches it may have run for
	// less: an emulated CPU stands still while the other one runs, maybe between the kernel's reading of the
	// clock and ours.
	if running := float64(p.Times[timeline.Running]) / 1e9; running < w.CPU*0.75-0.05 || running > w.CPU*1.5+0.5 {
		t.Errorf("by its switches it ran for %.3f s, by its own account for %.3f s", running, w.CPU)
	}
	if c := p.Counters; c != nil {
		if counted := float64(c.CPU) / 1e9; counted < w.CPU || counted > w.CPU*1.5+0.5 {
			t.Errorf("by its counter it ran for %.3f s, by its own account for %.3f s", counted, w.CPU)
		}
		if c.MinorFaults < w.MinorFaults {
			t.Errorf("%d minor faults, by its own account at least %d", c.MinorFaults, w.MinorFaults)
		}
	}
}

// openSink keeps what one process opened.
type openSink struct {
	timeline.Discard
	pid   uint32
	opens []timeline.Open
}

func (s *openSink) Open(o *timeline.Open) {
	if p := o.Thread.Process; p != nil && p.PID == s.pid {
		s.opens = append(s.opens, *o)
	}
}

// checkOpens compares the .pyc files that were opened with what the interpreter loaded; as many may be
// missing as checkWhole found. The stack pointer has to be in the stack, and to move as imports nest.
func checkOpens(t *testing.T, opens []timeline.Open, w *workload, missing uint64) {
	var opened []string
	sps := map[uint64]bool{}
	for _, o := range opens {
		if o.Result < 0 || !strings.HasSuffix(o.Path, ".pyc") {
			continue
		}
		opened = append(opened, o.Path)
		sps[o.UserSP] = true
		if o.UserSP < w.Stack[0] || o.UserSP >= w.Stack[1] {
			t.Errorf("%s: stack pointer %#x is not in the stack, %#x", o.Path, o.UserSP, w.Stack)
		}
	}
	slices.Sort(opened)
	expected := slices.DeleteFunc(slices.Clone(w.CompiledFiles), func(name string) bool {
		if missing == 0 || slices.Contains(opened, name) {
			return false
		}
		missing--
		return true
	})
	if diff := cmp.Diff(expected, opened); diff != "" {
		t.Errorf("compiled files (-loaded +opened):\n%s", diff)
	}
	if len(sps) < 5 {
		t.Errorf("only %d different stack pointers at %d opens", len(sps), len(opened))
	}
}

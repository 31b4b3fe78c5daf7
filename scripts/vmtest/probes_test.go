//go:build vmtest

package vmtest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// checkProbes tests which probes are attached in a recording of the self-test, that each other one says what keeps
// it from its best way, and that what is attached works. expected has no probe that is off.
func checkProbes(t *testing.T, r *run, mode string, expected map[string]string, why string) {
	data := r.results[mode+".bst"]
	f, err := tracefile.NewReader(bytes.NewReader(data), int64(len(data)), mode+".bst")
	if err != nil {
		t.Fatalf("%v; the recorder said:\n%s", err, r.results[mode+".stderr"])
	}
	pycs := &pycSink{}
	tl, err := timeline.Build(f, pycs)
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]string{}
	for _, p := range f.Header().Probes {
		if p.Status != tracefile.StatusOff {
			on[p.Name] = p.Via
		} else if !strings.Contains(p.Reason, why) {
			t.Errorf("%s is off: %q; expected %q among the reasons", p.Name, p.Reason, why)
		}
	}
	if diff := cmp.Diff(expected, on); diff != "" {
		t.Errorf("probes (-expected +attached):\n%s", diff)
	}
	if !tl.Complete() {
		t.Error("the trace has no end")
	}
	checkLives(t, tl)
	checkTasks(t, f, strings.HasPrefix(expected["sched"], "tp_btf"))
	// A start of Python opens some fifty.
	if opens := expected["open"] != ""; opens && pycs.withSP < 30 || pycs.withSP != pycs.all {
		t.Errorf("%d opens of .pyc files have a stack pointer, of %d", pycs.withSP, pycs.all)
	}
	t.Logf("%d events, %d opens of .pyc files", tl.Events, pycs.all)
}

// checkTasks tests that the tasks at the start and at the end come from the kernel's iterator where its types are
// used: it tells when they began to the nanosecond, /proc in units of 10 ms.
func checkTasks(t *testing.T, f *tracefile.File, types bool) {
	t.Helper()
	all, exact := map[event.TaskPhase]int{}, map[event.TaskPhase]int{}
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if task, ok := e.(*event.Task); ok {
			phase := event.TaskPhase(task.Phase)
			all[phase]++
			if task.Start%10e6 != 0 {
				exact[phase]++
			}
		}
	}
	for _, phase := range []event.TaskPhase{event.TaskAtStart, event.TaskAtEnd} {
		if n := all[phase]; n < 10 || types && exact[phase] < n*9/10 || !types && exact[phase] > 0 {
			t.Errorf("phase %v has %d tasks, %d of them as the iterator tells them", phase, n, exact[phase])
		}
	}
}

// pycSink counts opens of compiled Python files.
type pycSink struct {
	timeline.Discard
	all, withSP int
}

func (s *pycSink) Open(o *timeline.Open) {
	if strings.HasSuffix(o.Path, ".pyc") {
		s.all++
		if o.UserSP != 0 {
			s.withSP++
		}
	}
}

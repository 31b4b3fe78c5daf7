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
	"github.com/bootscope/bootscope/tracer/python"
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
	MajorFaults   uint64    `json:"major_faults"`
	Steps         steps     `json:"steps"`
}

// A recording is what one mode of the self-test left, and what may be missing in it.
type recording struct {
	*testing.T
	mode    mode
	guest   guest
	file    *tracefile.File
	tl      *timeline.Timeline
	seen    *stepSink
	modules *python.Collector
	told    workload
	missing uint64 // events that the trace says were lost, those of sched left out
}

// checkMode compares a recording with what is expected of the kernel and with what the program said.
func checkMode(t *testing.T, r *run, m mode, all *matrix) {
	if status := strings.TrimSpace(string(r.results[m.name+".status"])); status != "0" {
		t.Fatalf("bootscope record ended with status %s:\n%s", status, r.results[m.name+".stderr"])
	}
	rec := &recording{T: t, mode: m, guest: r.guest}
	rec.read(r)
	h, via := rec.file.Header(), r.guest.via(m)
	delete(via, idleProbe)
	all.tried(h, m)
	if diff := cmp.Diff(via, attached(h)); diff != "" {
		t.Errorf("probes (-expected +attached):\n%s\n%s", diff, reasons(h, via))
	}
	checkWhole(t, rec.tl, r.guest)
	checkLives(t, rec.tl)
	if m.attach == nil {
		checkCheck(t, r, m, all)
	}
	rec.checkProcess()
	rec.checkCompiled()
	rec.checkSteps()
	rec.checkSwitches()
	rec.checkImports(r.results[m.name+".stderr"])
	t.Logf("%d events in %d bytes, attached in %d ms", rec.tl.Events, len(r.results[m.name+".bst"]), rec.tl.Trailer.Self.Attach/1e6)
}

func (r *recording) read(run *run) {
	if err := json.Unmarshal(run.results[r.mode.name+".json"], &r.told); err != nil {
		r.Fatalf("what the program printed: %v", err)
	}
	data := run.results[r.mode.name+".bst"]
	var err error
	if r.file, err = tracefile.NewReader(bytes.NewReader(data), int64(len(data)), r.mode.name+".bst"); err != nil {
		r.Fatal(err)
	}
	r.seen, r.modules = &stepSink{pid: r.told.PID, arch: r.file.Header().Arch}, python.NewCollector()
	if r.tl, err = timeline.Build(r.file, r.seen, r.modules); err != nil {
		r.Fatal(err)
	}
	for _, l := range r.tl.Losses {
		if l.Probe != event.ProbeSched.String() {
			r.missing += l.Count
		}
	}
}

// noBTF tells whether names are as they were written, and much is not seen.
func (r *recording) noBTF() bool { return r.mode.noBTF || r.guest.noBTF }

// excuse tells whether one event more may be missing.
func (r *recording) excuse() bool {
	if r.missing == 0 {
		return false
	}
	r.missing--
	return true
}

// excused leaves out of what was done in order what may be missing in a recording of it.
func excused[T comparable](r *recording, done, recorded []T) (expected []T) {
	for _, e := range done {
		if len(recorded) > 0 && recorded[0] == e {
			recorded = recorded[1:]
		} else if r.excuse() {
			continue
		}
		expected = append(expected, e)
	}
	return expected
}

// checkWhole tests that the trace has an end and lost no more than has to be.
func checkWhole(t *testing.T, tl *timeline.Timeline, g guest) {
	if !tl.Complete() {
		t.Fatal("the trace has no end")
	}
	for _, l := range tl.Losses {
		// Where the kernel stops a program in a task, it passes over the same one in each other task of that CPU until
		// the task goes on. Of one at the end of every system call these are many, and few would have told anything.
		stopped := g.preemptible && l.Reason == event.LostSkipped.String()
		if !g.mayMiss(l) && l.Count != 0 || l.Count > tl.Events/20 && !stopped {
			t.Errorf("%d events of %s were lost: %s; %d were recorded", l.Count, l.Probe, l.Reason, tl.Events)
		}
	}
	if s := tl.Trailer.ExitStatus; s == nil || *s != 0 {
		t.Errorf("the trace has exit status %v for the command, expected 0", s)
	}
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

func (r *recording) checkProcess() {
	p, w := processOf(r.tl, r.told.PID), &r.told
	if p == nil {
		r.Fatalf("process %d is not in the trace", w.PID)
	}
	if (!slices.Equal(p.Argv, w.Argv) || !p.Ended || len(p.Execs) != 1 || path.Base(p.Execs[0].Name) != "python3") && !r.excuse() {
		r.Errorf("process %d: arguments %q, ended %v, execs %+v; expected %q, one exec of python3 and an end",
			p.PID, p.Argv, p.Ended, p.Execs, w.Argv)
	}
	// On a preemptible kernel another program may have been stopped on the CPU: the kernel passes over this one,
	// and doesn't count that.
	if p.FaultEvents > w.MajorFaults || p.FaultEvents < w.MajorFaults && !r.guest.preemptible || w.MajorFaults == 0 {
		r.Errorf("%d major faults were seen one by one, by its own account there were %d", p.FaultEvents, w.MajorFaults)
	}
	r.checkCPU(p)
	if c := p.Counters; c != nil && (c.MinorFaults < w.MinorFaults || c.MajorFaults != w.MajorFaults) {
		r.Errorf("%d minor and %d major faults, by its own account at least %d, and %d", c.MinorFaults, c.MajorFaults,
			w.MinorFaults, w.MajorFaults)
	}
}

// checkCPU compares the time that a process ran, by its switches, with the kernel's counter and with its own
// account. It goes on running after it has looked at itself, for how long depends on the host. An emulated CPU
// stands still while the other one runs, maybe between the kernel's reading of the clock and ours.
func (r *recording) checkCPU(p *timeline.Process) {
	running := float64(p.Times[timeline.Running]) / 1e9
	if running < r.told.CPU*0.75-0.05 {
		r.Errorf("by its switches it ran for %.3f s, by its own account for %.3f s", running, r.told.CPU)
	}
	if p.Counters == nil {
		return
	}
	counted := float64(p.Counters.CPU) / 1e9
	if counted < r.told.CPU {
		r.Errorf("by its counter it ran for %.3f s, by its own account for %.3f s", counted, r.told.CPU)
	}
	if running < counted*0.75-0.05 || running > counted*1.25+0.5 {
		r.Errorf("by its switches it ran for %.3f s, by its counter for %.3f s", running, counted)
	}
}

// checkCompiled compares the .pyc files that were opened with what the interpreter loaded. The stack pointer has
// to be in the stack, and to move as imports nest.
func (r *recording) checkCompiled() {
	var opened []string
	sps := map[uint64]bool{}
	for _, o := range r.seen.opens {
		if o.Result < 0 || !strings.HasSuffix(o.Path, ".pyc") {
			continue
		}
		opened = append(opened, o.Path)
		sps[o.UserSP] = true
		if o.UserSP < r.told.Stack[0] || o.UserSP >= r.told.Stack[1] {
			r.Errorf("%s: stack pointer %#x is not in the stack, %#x", o.Path, o.UserSP, r.told.Stack)
		}
	}
	slices.Sort(opened)
	if diff := cmp.Diff(excused(r, r.told.CompiledFiles, opened), opened); diff != "" {
		r.Errorf("compiled files (-loaded +opened):\n%s", diff)
	}
	if len(sps) < 5 {
		r.Errorf("only %d different stack pointers at %d opens", len(sps), len(opened))
	}
}

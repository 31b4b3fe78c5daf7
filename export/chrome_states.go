package export

import (
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Interval implements timeline.IntervalSink. Perfetto, since early 2026, takes events of phase T for the states of
// threads, and those that run on a CPU for what that CPU does; other viewers pass over them. So who ran on
// a CPU is also, for all of them, a slice on that CPU's track. Slices for all other states would make the
// file twice as large, and are for viewers that need them.
func (x *chromeExport) Interval(iv *timeline.Interval) {
	if iv.State == timeline.Running && iv.CPU >= 0 {
		x.runOn(iv)
	}
	if x.options.Compat {
		x.stateSlices(iv)
	} else if name := chromeStates[iv.State]; name != "" {
		x.state(iv, name)
	}
}

func (x *chromeExport) state(iv *timeline.Interval, name string) {
	a := x.describeState(iv)
	switch {
	case iv.State == timeline.Runnable && iv.Cause == timeline.Preempted:
		name = "R+"
	case iv.State == timeline.IOWait:
		a.number("io_wait", 1)
	case iv.State == timeline.Blocked && x.tl.Can.IOWait:
		a.number("io_wait", 0)
	}
	x.w.state(x.tracks.of(iv.Thread), iv.Start, iv.End, name, a)
}

// The states as Perfetto names them: the letters of the kernel's own trace.
var chromeStates = [timeline.NumStates]string{
	timeline.Running:  "Running",
	timeline.Runnable: "R",
	timeline.IOWait:   "D",
	timeline.Blocked:  "D",
	timeline.Sleeping: "S",
	timeline.Stopped:  "T",
}

func (x *chromeExport) describeState(iv *timeline.Interval) *args {
	a := x.w.args()
	if iv.CPU >= 0 && iv.State == timeline.Running {
		a.number("cpu", int64(iv.CPU))
	}
	if iv.Syscall != event.NoSyscall {
		a.text("syscall", syscalls.Name(x.tl.Header.Arch, iv.Compat, iv.Syscall))
	}
	return a
}

// stateSlices shows a state as a slice on the thread's track, in pieces if imports begin or end in it.
func (x *chromeExport) stateSlices(iv *timeline.Interval) {
	track := x.tracks.of(iv.Thread)
	for at := iv.Start; at < iv.End; {
		x.importsUntil(iv.Thread, at)
		end := iv.End
		if rest := x.edges[iv.Thread.Index]; len(rest) > 0 {
			end = min(end, rest[0].at)
		}
		a := x.describeState(iv)
		if name := causeNames[iv.Cause]; name != "" {
			a.text("cause", name)
		}
		x.w.span(track, at, end, iv.State.String(), a)
		at = end
	}
}

var causeNames = map[timeline.Cause]string{
	timeline.Woken:     "woken",
	timeline.Preempted: "preempted",
	timeline.Yielded:   "yielded",
	timeline.Forked:    "forked",
}

// runOn shows who ran on a CPU. What the recorder missed could make two threads seem to run on one CPU
// at once; the track then shows the first until it ends.
func (x *chromeExport) runOn(iv *timeline.Interval) {
	start := max(iv.Start, x.cpuEnds[iv.CPU])
	if start >= iv.End {
		return
	}
	x.cpuEnds[iv.CPU] = iv.End
	a := x.w.args()
	x.tracks.identify(a, iv.Thread)
	x.w.span(cpuTrack(iv.CPU), start, iv.End, x.tracks.name(iv.Thread), a)
}

// importsUntil writes what begins and ends on a thread's track until a moment.
func (x *chromeExport) importsUntil(th *timeline.Thread, at uint64) {
	track, rest := x.tracks.of(th), x.edges[th.Index]
	for len(rest) > 0 && rest[0].at <= at {
		if e := rest[0]; e.begins {
			x.w.begin(track, e.at, "import "+e.module.Name, x.describeImport(e))
		} else {
			x.w.end(track, e.at)
		}
		rest = rest[1:]
	}
	x.edges[th.Index] = rest
}

func (x *chromeExport) describeImport(e importEdge) *args {
	m, a := e.module, x.w.args()
	a.text("file", m.Open.File.Path)
	a.number("self_ns", int64(m.Self.Sum()))
	a.number("cpu_ns", int64(m.Total[timeline.Running]))
	a.number("runnable_ns", int64(m.Total[timeline.Runnable]))
	a.number("io_wait_ns", int64(m.Total[timeline.IOWait]))
	for _, f := range []struct {
		key  string
		fact bool
	}{{"recompiled", m.Open.Cache.Compiled()}, {"again", m.Again}, {"end_not_seen", !m.EndSeen}} {
		if f.fact {
			a.bool(f.key, true)
		}
	}
	if e.confidence != "" {
		a.text("confidence", e.confidence)
	}
	return a
}

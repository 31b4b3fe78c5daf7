package export

import (
	"io"
	"iter"

	pb "github.com/bootscope/bootscope/export/perfettopb"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// writePerfetto writes Perfetto's own format: what the scheduler did as the kernel's tracer would have
// written it, and tracks for all else. Like the other format for the same viewers it reads the source
// twice, first for what there is, then for what happened, so that memory grows with the number of threads
// only. Readers sort by time, so the order of packets is free.
func writePerfetto(w io.Writer, source tracefile.Source) error {
	s, err := surveyOf(source)
	if err != nil {
		return err
	}
	x := newPerfettoExport(w, s.Timeline)
	x.machine()
	x.beginRecording()
	x.milestones()
	x.boot()
	x.findings(s.findings)
	x.units()
	x.imports(s.interpreters)
	_, err = timeline.Build(&perfettoTap{Source: source, x: x}, x)
	if x.w.err != nil { // it ended the iteration, so it is the cause
		return x.w.err
	}
	if err != nil {
		return err
	}
	x.sched.finish()
	x.unannounced()
	x.endRecording()
	return x.w.close()
}

// perfettoExport receives what happened.
type perfettoExport struct {
	timeline.Discard
	w     *perfettoWriter
	tl    *timeline.Timeline
	sched *perfettoSched

	losses    bool   // there was one
	begun     []bool // by Thread.Index: its track was described
	announced []bool // likewise: a fork or /proc has told of it

	message, part, parts pb.Message
}

func newPerfettoExport(out io.Writer, tl *timeline.Timeline) *perfettoExport {
	w := newPerfettoWriter(out)
	return &perfettoExport{
		w: w, tl: tl, sched: newPerfettoSched(w, tl),
		begun: make([]bool, len(tl.Threads)), announced: make([]bool, len(tl.Threads)),
	}
}

// perfettoTap shows events as they were recorded before the timeline makes something of them. It also
// stops reading when the output can't be written.
type perfettoTap struct {
	tracefile.Source
	x *perfettoExport
}

// Events implements tracefile.Source.
func (t *perfettoTap) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range t.Source.Events() {
			if err == nil {
				t.x.event(e)
			}
			if t.x.w.err != nil {
				yield(nil, t.x.w.err)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// event takes what is written as it was recorded. As in the timeline, what comes before and after the
// recording is not complete and left out; only names from before are kept.
func (x *perfettoExport) event(e event.Event) {
	at := e.Head().Time
	before, after := at < x.tl.Start, at > x.tl.End
	switch e := e.(type) {
	case *event.Task:
		x.sched.introduce(e)
		x.task(e)
	case *event.Lost:
		x.lost(e)
	case *event.Fork:
		if !after {
			x.sched.inherit(e)
		}
	case *event.Rename:
		if before {
			x.sched.rename(e)
		}
	}
	if before || after {
		return
	}
	switch e := e.(type) {
	case *event.Switch:
		x.sched.onSwitch(e)
	case *event.Waking:
		x.sched.onWaking(e)
	case *event.Fork:
		x.sched.onFork(e)
		x.announce(e.ChildTID, at)
	case *event.Rename:
		x.sched.onRename(e)
	}
}

// announce notes that a thread was told of, and returns it if it was not before.
func (x *perfettoExport) announce(tid uint32, at uint64) *timeline.Thread {
	th := x.sched.lives.find(tid, at)
	if th == nil || x.announced[th.Index] {
		return nil
	}
	x.announced[th.Index] = true
	return th
}

// accessMode is O_ACCMODE of open(2): 0 is to read only.
const accessMode = 3

// Open implements timeline.Sink.
func (x *perfettoExport) Open(o *timeline.Open) {
	name := "open " + baseName(o.Path)
	a := x.w.args()
	a.text("path", o.Path)
	a.flag("path_cut", o.Cut)
	if o.Result < 0 {
		name = "failed open " + baseName(o.Path)
		a.text("error", errnoName(-int64(o.Result)))
	} else {
		a.number("fd", int64(o.Result))
	}
	a.flag("for_writing", o.Flags&accessMode != 0)
	x.w.instant(x.track(o.Thread, o.Time), o.Time, "open", name, a)
}

// Fault implements timeline.Sink.
func (x *perfettoExport) Fault(th *timeline.Thread, e *event.Fault) {
	a := x.w.args()
	a.hex("address", e.Addr)
	a.hex("ip", e.IP)
	x.w.instant(x.track(th, e.Time), e.Time, "fault", "major fault", a)
}

// Frequency implements timeline.Sink.
func (x *perfettoExport) Frequency(cpu int, at uint64, khz uint32) { x.sched.frequency(cpu, at, khz) }

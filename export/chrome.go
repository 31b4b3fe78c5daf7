package export

import (
	"fmt"
	"io"
	"iter"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// writeChrome writes Chrome's trace events as one JSON array. It reads the source twice: first for what
// there is (names, lives), then for what happened, which goes out as it comes. So memory grows with the
// number of threads, not of events, and a file that was cut still has its names.
//
// Every span is a pair of B and E rather than one X: the end of a span and the begin of the next are then
// the same digits, which no reader's rounding can make overlap.
func writeChrome(w io.Writer, source tracefile.Source) error {
	tl, err := timeline.Build(source)
	if err != nil {
		return err
	}
	c := newChromeWriter(w, originOf(tl))
	x := &chromeExport{w: c, arch: tl.Header.Arch, tracks: newChromeTracks(tl), cpuEnds: map[int]uint64{}}
	x.beginRecording(tl)
	x.nameTracks(tl)
	x.beginLives(tl)
	_, err = timeline.Build(&lossTap{Source: source, x: x}, x)
	if c.err != nil { // it ended the iteration, so it is the cause
		return c.err
	}
	if err != nil {
		return err
	}
	x.endLives(tl)
	x.endRecording(tl)
	return c.close()
}

// originOf is where the output's time begins: at boot, unless the machine has been up for so long (104
// days) that a reader's numbers would not hold its nanoseconds; then at the recording's start.
func originOf(tl *timeline.Timeline) uint64 {
	if tl.End > maxExact {
		return tl.Start
	}
	return 0
}

// lossTap shows each loss at its time; the timeline only counts them. It also stops reading when the
// output can't be written.
type lossTap struct {
	tracefile.Source
	x *chromeExport
}

// Events implements tracefile.Source.
func (t *lossTap) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range t.Source.Events() {
			if lost, ok := e.(*event.Lost); ok {
				t.x.lost(lost)
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

// chromeExport receives what happened.
type chromeExport struct {
	timeline.Discard
	w       *chromeWriter
	arch    string
	tracks  *chromeTracks
	cpuEnds map[int]uint64 // end of the last span on a CPU's track
}

// Interval implements timeline.Sink.
func (x *chromeExport) Interval(iv *timeline.Interval) {
	a := x.w.args()
	if iv.CPU >= 0 {
		a.number("cpu", int64(iv.CPU))
	}
	if iv.Syscall != event.NoSyscall {
		a.text("syscall", syscalls.Name(x.arch, iv.Compat, iv.Syscall))
	}
	if name := causeNames[iv.Cause]; name != "" {
		a.text("cause", name)
	}
	if iv.Waker != 0 {
		a.number("waker", int64(iv.Waker))
	}
	x.w.span(x.tracks.of(iv.Thread), iv.Start, iv.End, iv.State.String(), a)
	if iv.State == timeline.Running && iv.CPU >= 0 {
		x.runOn(iv)
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

// Open implements timeline.Sink.
func (x *chromeExport) Open(o *timeline.Open) {
	name := "open " + baseName(o.Path)
	a := x.w.args()
	a.text("path", o.Path)
	if o.Cut {
		a.bool("path_cut", true)
	}
	if o.Result < 0 {
		name = "failed open " + baseName(o.Path)
		a.text("error", errnoName(-int64(o.Result)))
	} else {
		a.number("fd", int64(o.Result))
	}
	a.hex("flags", uint64(o.Flags))
	a.hex("user_sp", o.UserSP)
	x.w.instant(x.tracks.of(o.Thread), o.Time, name, scopeThread, a)
}

// Fault implements timeline.Sink.
func (x *chromeExport) Fault(th *timeline.Thread, e *event.Fault) {
	a := x.w.args()
	a.hex("address", e.Addr)
	a.hex("ip", e.IP)
	x.w.instant(x.tracks.of(th), e.Time, "major fault", scopeThread, a)
}

// Frequency implements timeline.Sink.
func (x *chromeExport) Frequency(cpu int, time uint64, khz uint32) {
	a := x.w.args()
	a.number("kHz", int64(khz))
	x.w.counter(cpuGroup, time, fmt.Sprintf("CPU %d frequency", cpu), a)
}

func (x *chromeExport) lost(e *event.Lost) {
	a := x.w.args()
	a.text("probe", event.Probe(e.Probe).String())
	a.text("reason", event.LostReason(e.Reason).String())
	a.number("count", int64(min(e.Count, 1<<62)))
	x.w.instant(cpuTrack(int(e.CPU)), e.Time, "lost events", scopeGlobal, a)
}

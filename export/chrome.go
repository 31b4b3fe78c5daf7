package export

import (
	"io"
	"iter"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// writeChrome writes Chrome's trace events as one JSON array. It reads the source twice: first for what
// there is (names, lives, imports), then for what happened, which goes out as it comes. So memory grows
// with the number of threads and imports, not of events, and a file that was cut still has its names.
//
// Every span is a pair of B and E rather than one X: the end of a span and the begin of the next are then
// the same digits, which no reader's rounding can make overlap. On each track they come in order of time
// and nest; tracks don't wait for each other.
func writeChrome(w io.Writer, source tracefile.Source, options Options) error {
	s, err := surveyOf(source)
	if err != nil {
		return err
	}
	c := newChromeWriter(w, originOf(s.Timeline))
	x := newChromeExport(c, s, options)
	x.nameTracks()
	x.beginRecording()
	x.marks()
	x.boot()
	x.beginLives()
	counters := newChromeCounters(s.Timeline)
	sinks := []timeline.Sink{x, counters}
	if options.Flows {
		sinks = append(sinks, &chromeWakeups{x: x})
	}
	_, err = timeline.Build(&chromeTap{Source: source, x: x}, sinks...)
	if c.err != nil { // it ended the iteration, so it is the cause
		return c.err
	}
	if err != nil {
		return err
	}
	counters.write(c)
	x.endLives()
	x.endRecording()
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

// chromeExport receives what happened.
type chromeExport struct {
	timeline.Discard
	w       *chromeWriter
	tl      *survey
	options Options
	tracks  *chromeTracks
	lives   lifeTable
	edges   [][]importEdge // by Thread.Index, those that are still to be written
	cpuEnds map[int]uint64 // end of the last span on a CPU's track
	flows   int64          // arrows so far
}

func newChromeExport(w *chromeWriter, s *survey, options Options) *chromeExport {
	x := &chromeExport{
		w: w, tl: s, options: options, tracks: newChromeTracks(s.Timeline), lives: newLifeTable(s.Timeline),
		edges: make([][]importEdge, len(s.Threads)), cpuEnds: map[int]uint64{},
	}
	for e := range importEdges(s.Timeline, s.interpreters) {
		thread := e.module.Open.Thread.Index
		x.edges[thread] = append(x.edges[thread], e)
	}
	return x
}

// chromeTap shows what the timeline doesn't pass on: each loss and each fork at its time. It also stops
// reading when the output can't be written.
type chromeTap struct {
	tracefile.Source
	x *chromeExport
}

// Events implements tracefile.Source.
func (t *chromeTap) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range t.Source.Events() {
			switch e := e.(type) {
			case *event.Lost:
				t.x.lost(e)
			case *event.Fork:
				t.x.fork(e)
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
	x.w.instant(x.tracks.of(o.Thread), o.Time, name, a)
}

// Fault implements timeline.Sink.
func (x *chromeExport) Fault(th *timeline.Thread, e *event.Fault) {
	a := x.w.args()
	a.hex("address", e.Addr)
	a.hex("ip", e.IP)
	x.w.instant(x.tracks.of(th), e.Time, "major fault", a)
}

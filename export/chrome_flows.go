package export

import (
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// fork draws an arrow from a fork to what it began.
func (x *chromeExport) fork(e *event.Fork) {
	parent, child := x.lives.find(e.TID, e.Time), x.lives.find(e.ChildTID, e.Time)
	if parent == nil || child == nil || e.Time < x.tl.Start || e.Time > x.tl.End || child.Start < e.Time {
		return
	}
	a := x.w.args()
	x.tracks.identify(a, child)
	x.w.instant(x.tracks.of(parent), e.Time, "fork "+x.tracks.name(child), a)
	x.arrow("fork", parent, e.Time, child, child.Start)
}

// arrow connects the innermost spans of two threads. An instant counts as a span.
func (x *chromeExport) arrow(name string, from *timeline.Thread, start uint64, to *timeline.Thread, end uint64) {
	x.flows++
	x.w.flow('s', x.tracks.of(from), start, name, x.flows)
	x.w.flow('f', x.tracks.of(to), end, name, x.flows)
}

// chromeWakeups is the sink that draws an arrow from each thread that wakes another.
type chromeWakeups struct {
	timeline.Discard
	x *chromeExport
}

// Wakeup implements timeline.WakeSink. An interrupt is no thread, so no arrow can begin at it.
func (s *chromeWakeups) Wakeup(w *timeline.Wakeup) {
	if w.Waker == nil {
		return
	}
	x := s.x
	a := x.w.args()
	x.tracks.identify(a, w.Thread)
	x.w.instant(x.tracks.of(w.Waker), w.Time, "wake "+x.tracks.name(w.Thread), a)
	a = x.w.args()
	x.tracks.identify(a, w.Waker)
	x.w.instant(x.tracks.of(w.Thread), w.Time, "woken by "+x.tracks.name(w.Waker), a)
	x.arrow("wake", w.Waker, w.Time, w.Thread, w.Time)
}

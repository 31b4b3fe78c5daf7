package export

import (
	"fmt"
	"time"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// chromeCounters adds up, over short stretches of equal length, what counters show: how many threads were
// in a state on average, and how much was read. So their size doesn't depend on the number of events, and
// what comes late (a state is told when it ends) finds its place.
type chromeCounters struct {
	timeline.Discard
	tl       *timeline.Timeline
	width    uint64
	runnable []uint64 // thread-nanoseconds
	waiting  []uint64 // likewise
	read     []uint64 // bytes
}

// maxStretches is more than a screen has columns.
const maxStretches = 4000

// newChromeCounters chooses stretches of 1, 2 or 5 ms, or ten, a hundred... times as long.
func newChromeCounters(tl *timeline.Timeline) *chromeCounters {
	width := uint64(time.Millisecond)
	for i := 0; tl.Duration()/width >= maxStretches; i++ {
		width = width / 2 * [...]uint64{4, 5, 4}[i%3]
	}
	n := tl.Duration()/width + 1
	return &chromeCounters{
		tl: tl, width: width,
		runnable: make([]uint64, n), waiting: make([]uint64, n), read: make([]uint64, n),
	}
}

// Interval implements timeline.IntervalSink.
func (c *chromeCounters) Interval(iv *timeline.Interval) {
	switch iv.State {
	case timeline.Runnable:
		c.spread(c.runnable, iv.Start, iv.End, iv.End-iv.Start)
	case timeline.IOWait:
		c.spread(c.waiting, iv.Start, iv.End, iv.End-iv.Start)
	}
}

// Read implements timeline.Sink.
func (c *chromeCounters) Read(r *timeline.Read) { c.spread(c.read, r.Start, r.End, r.Bytes) }

// spread adds an amount evenly from one moment to another.
func (c *chromeCounters) spread(list []uint64, from, to, amount uint64) {
	from = min(max(from, c.tl.Start), c.tl.End) - c.tl.Start
	to = min(max(to, c.tl.Start+from), c.tl.End) - c.tl.Start
	for i := from / c.width; ; i++ {
		end := min(to, (i+1)*c.width)
		if end == to {
			list[i] += amount
			return
		}
		share := uint64(float64(amount) * float64(end-from) / float64(to-from))
		list[i] += share
		amount, from = amount-share, end
	}
}

// write writes the counters that the recording can tell.
func (c *chromeCounters) write(w *chromeWriter) {
	if c.tl.Can.Sched {
		c.writeAverage(w, "runnable threads", c.runnable)
	}
	if c.tl.Can.IOWait {
		c.writeAverage(w, "threads in I/O wait", c.waiting)
	}
	if c.tl.Can.Reads {
		name := fmt.Sprintf("read in %v", time.Duration(c.width))
		c.writeChanges(c.read, func(at, bytes uint64) {
			a := w.args()
			a.number("bytes", int64(bytes))
			w.counter(cpuGroup, at, name, a)
		})
	}
}

// writeAverage shows threads to a thousandth.
func (c *chromeCounters) writeAverage(w *chromeWriter, name string, list []uint64) {
	averages := make([]uint64, len(list))
	for i, ns := range list {
		width := min(c.width, c.tl.Duration()-uint64(i)*c.width)
		averages[i] = (ns*1000 + width/2) / max(width, 1)
	}
	c.writeChanges(averages, func(at, thousandths uint64) {
		a := w.args()
		a.thousandths("threads", thousandths)
		w.counter(cpuGroup, at, name, a)
	})
}

// writeChanges passes on the values that differ from the one before.
func (c *chromeCounters) writeChanges(list []uint64, write func(at, value uint64)) {
	for i, value := range list {
		if i == 0 || value != list[i-1] {
			write(c.tl.Start+uint64(i)*c.width, value)
		}
	}
}

// Frequency implements timeline.Sink.
func (x *chromeExport) Frequency(cpu int, time uint64, khz uint32) {
	a := x.w.args()
	a.number("kHz", int64(khz))
	x.w.counter(cpuGroup, time, fmt.Sprintf("CPU %d frequency", cpu), a)
}

package timeline

import (
	"sort"
	"strconv"

	"github.com/bootscope/bootscope/tracer/event"
)

// Wakeup is the end of a thread's sleep.
type Wakeup struct {
	Thread  *Thread
	Time    uint64
	By      event.Waker
	Number  uint16  // of the interrupt
	Waker   *Thread // if By is a task; nil for the idle task, or when it isn't known
	Syscall uint16  // in which the thread slept, or event.NoSyscall
	Compat  bool
}

// A WakeSink is a Sink that receives wake-ups too.
type WakeSink interface {
	Sink
	Wakeup(w *Wakeup)
}

// cameFrom is what is kept of a waking until it is known whether it ended a sleep.
type cameFrom struct {
	time   uint64
	by     event.Waker
	number uint16
	tid    uint32
}

func (b *builder) fromWaking(e *event.Waking) cameFrom {
	return cameFrom{time: b.now, by: event.Waker(e.By), number: e.Number, tid: e.TID}
}

// wokenUp counts a wake-up and tells who wants to know.
func (b *builder) wokenUp(th *Thread, from cameFrom) {
	th.Wakeups++
	if len(b.wakeSinks) == 0 {
		return
	}
	w := Wakeup{Thread: th, Time: from.time, By: from.by, Number: from.number, Syscall: th.syscall, Compat: th.compat}
	if from.by == event.WakerTask && from.tid != 0 {
		w.Waker = b.tids.get(from.tid)
	}
	for _, s := range b.wakeSinks {
		s.Wakeup(&w)
	}
}

// WakeSource is one reason for which a thread wakes up, again and again.
type WakeSource struct {
	By      event.Waker
	Number  uint16
	Waker   *Thread // if By is a task; nil for the idle task, or when it isn't known
	Syscall uint16  // in which the thread slept
	Compat  bool
	Count   uint64

	first     uint64
	last      uint64
	intervals []uint32 // between wake-ups, in microseconds
}

const (
	// maxIntervals bounds what is kept of one source: enough to know its rhythm.
	maxIntervals = 1024
	// minIntervals is how many it takes to call them a rhythm.
	minIntervals = 8
	// A source is regular if so many of its intervals differ from their median by no more than that part.
	regularShare  = 0.8
	regularSpread = 0.1
)

// Rhythm returns the median time between two wake-ups, in nanoseconds (0 if there are too few), and
// whether they come regularly.
func (s *WakeSource) Rhythm() (period uint64, regular bool) {
	if len(s.intervals) < minIntervals {
		return 0, false
	}
	sorted := append([]uint32(nil), s.intervals...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	median := float64(sorted[len(sorted)/2])
	near := 0
	for _, us := range sorted {
		if d := float64(us) - median; d <= regularSpread*median && -d <= regularSpread*median {
			near++
		}
	}
	period = uint64(median) * 1000
	// Many in a burst, and then a long pause, is no rhythm either.
	steady := s.last-s.first <= 2*period*s.Count
	return period, steady && float64(near) >= regularShare*float64(len(sorted))
}

// Wakeups is a sink that collects what wakes each thread.
type Wakeups struct {
	Discard
	sources [][]*WakeSource // by Thread.Index
}

// Wakeup implements WakeSink.
func (c *Wakeups) Wakeup(w *Wakeup) {
	for w.Thread.Index >= len(c.sources) {
		c.sources = append(c.sources, nil)
	}
	s := c.source(w)
	s.Count++
	if s.first == 0 {
		s.first = w.Time
	} else if len(s.intervals) < maxIntervals {
		s.intervals = append(s.intervals, uint32(min((w.Time-s.last)/1000, 1<<32-1)))
	}
	s.last = w.Time
}

func (c *Wakeups) source(w *Wakeup) *WakeSource {
	list := c.sources[w.Thread.Index]
	for _, s := range list {
		if s.By == w.By && s.Number == w.Number && s.Waker == w.Waker && s.Syscall == w.Syscall && s.Compat == w.Compat {
			return s
		}
	}
	s := &WakeSource{By: w.By, Number: w.Number, Waker: w.Waker, Syscall: w.Syscall, Compat: w.Compat}
	c.sources[w.Thread.Index] = append(list, s)
	return s
}

// Of returns what woke a thread, the most frequent first.
func (c *Wakeups) Of(th *Thread) []*WakeSource {
	if th.Index >= len(c.sources) {
		return nil
	}
	list := c.sources[th.Index]
	sort.SliceStable(list, func(i, j int) bool { return list[i].Count > list[j].Count })
	return list
}

// Interrupts is what one kind of interrupt work took on all CPUs.
type Interrupts struct {
	By     event.Waker
	Number uint16
	Name   string
	Count  uint64
	Time   uint64
}

func (b *builder) onInterrupts(e *event.Interrupts) {
	b.tl.Interrupts = append(b.tl.Interrupts, Interrupts{
		By: event.Waker(e.By), Number: e.Number, Name: string(e.TailBytes()), Count: e.Count, Time: e.Total,
	})
}

// InterruptName names the interrupt that a wake-up came from.
func (t *Timeline) InterruptName(by event.Waker, number uint16) string {
	for _, i := range t.Interrupts {
		if i.By == by && i.Number == number && i.Name != "" {
			return i.Name
		}
	}
	return ""
}

// SourceName says what wakes: a timer, an interrupt, another thread.
func (t *Timeline) SourceName(s *WakeSource) string {
	switch {
	case s.By == event.WakerTimer:
		return "timer"
	case s.By == event.WakerTimerWheel:
		return "kernel timer"
	case s.By != event.WakerTask:
		name := t.InterruptName(s.By, s.Number)
		if name == "" {
			name = strconv.Itoa(int(s.Number))
		}
		return s.By.String() + " " + name
	case s.Waker == nil:
		return "idle CPU" // an interrupt that the probe doesn't see, such as one of another CPU
	}
	return s.Waker.Name()
}

// Name names a thread as ps does: with its id, in brackets if it is the kernel's.
func (th *Thread) Name() string {
	name := th.Comm
	if name == "" {
		name = "unnamed"
	}
	if th.Process != nil && th.Process.Kernel {
		return "[" + name + "]"
	}
	return name + " " + strconv.Itoa(int(th.TID))
}

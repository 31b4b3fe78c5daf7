package findings

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// timers looks for threads that a timer or an interrupt wakes again and again, though nothing happens.
type timers struct{ timeline.Discard }

// The thresholds:
const (
	// Below so many wake-ups per second a CPU has time to sleep deeply between them.
	minWakeRate = 5.0
	// A rate so near to a display's is taken for one.
	displayTolerance = 0.03
)

// displayRates are what displays and films run at, in Hz, but for those that are a round number of
// milliseconds: these are more often a sleep.
var displayRates = []float64{24, 30, 60, 72, 75, 90, 120, 144}

// A habit is one source that wakes one thread.
type habit struct {
	thread  *timeline.Thread
	source  *timeline.WakeSource
	rate    float64
	regular bool
	poll    bool // a time-out of a program's own wait, not at a display's rate
}

// Find implements Detector.
func (timers) Find(r *Recording) []Finding {
	if !r.idle() {
		return nil
	}
	type key struct {
		process *timeline.Process
		poll    bool
	}
	groups := map[key][]habit{}
	var order []key
	for _, th := range r.Threads {
		if th.Process.Recorder {
			continue
		}
		for _, s := range r.Wakeups.Of(th) {
			h, ok := r.habit(th, s)
			if !ok {
				continue
			}
			k := key{th.Process, h.poll}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], h)
		}
	}
	var found []Finding
	for _, k := range order {
		found = append(found, r.habits(k.process, groups[k]))
	}
	return found
}

// habit judges one source.
func (r *Recording) habit(th *timeline.Thread, s *timeline.WakeSource) (habit, bool) {
	h := habit{thread: th, source: s, rate: r.perSecond(s.Count)}
	if s.By == event.WakerTask || h.rate < minWakeRate {
		return h, false
	}
	period, regular := s.Rhythm()
	if period == 0 {
		return h, false
	}
	h.regular = regular
	timer := s.By == event.WakerTimer || s.By == event.WakerTimerWheel
	h.poll = timer && !th.Process.Kernel && s.Syscall != event.NoSyscall && h.displayRate() == 0
	return h, regular || h.poll
}

// displayRate is the display's rate that the habit has, 0 for none.
func (h *habit) displayRate() float64 {
	period, regular := h.source.Rhythm()
	if !regular {
		return 0
	}
	for _, hz := range displayRates {
		if math.Abs(1e9/float64(period)/hz-1) <= displayTolerance {
			return hz
		}
	}
	return 0
}

// habits makes one finding of all habits of a process that are of one kind.
func (r *Recording) habits(p *timeline.Process, list []habit) Finding {
	sort.SliceStable(list, func(i, j int) bool { return list[i].rate > list[j].rate })
	f := Finding{ID: "periodic-wakeup", PID: p.PID, Unit: unitOf(p)}
	var sum float64
	threads := map[*timeline.Thread]bool{}
	for i, h := range list {
		sum += h.rate
		if !threads[h.thread] {
			threads[h.thread] = true
			f.Cost += h.thread.Times[timeline.Running]
		}
		if i < named {
			f.Evidence = append(f.Evidence, r.describe(&h))
		}
	}
	if rest := len(list) - named; rest > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%d more of its threads", rest))
	}
	first := &list[0]
	switch hz := first.displayRate(); {
	case first.poll:
		f.ID = "polling-loop"
		f.Title = fmt.Sprintf("%s polls %s", first.thread.Name(), rate(sum))
		f.Remedy = "wait for the event itself (a file descriptor in poll, a condition variable, inotify, a signal) with a " +
			"time-out of seconds, or with none"
	case hz != 0:
		f.Title = fmt.Sprintf("%s wakes at a display's rate, %.0f Hz", first.thread.Name(), hz)
		f.Remedy = "if it redraws: draw only when something has changed, and not at all while nobody looks"
	case p.Kernel:
		f.Title = fmt.Sprintf("%s works %s", first.thread.Name(), rate(sum))
		f.Remedy = "a driver polls: look for an interrupt line that is not wired up, or a longer poll interval"
	default:
		f.Title = fmt.Sprintf("%s wakes %s", first.thread.Name(), rate(sum))
		f.Remedy = "make the period longer, or wait for the event itself; a larger timer slack (prctl PR_SET_TIMERSLACK) " +
			"lets wake-ups coincide"
	}
	return f
}

// describe is the evidence of a habit.
func (r *Recording) describe(h *habit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is woken %s by %s", h.thread.Name(), rate(h.rate), r.SourceName(h.source))
	period, regular := h.source.Rhythm()
	if regular {
		fmt.Fprintf(&b, ", regularly every %.1f ms", float64(period)/1e6)
	} else {
		fmt.Fprintf(&b, ", typically after %.1f ms", float64(period)/1e6)
	}
	if call := r.waits(h.source); call != "" {
		fmt.Fprintf(&b, ", in %s", call)
	}
	ran := h.thread.Times[timeline.Running]
	fmt.Fprintf(&b, "; it takes %s, %.0f us each time", r.share(ran), float64(ran)/1e3/float64(max(h.thread.Wakeups, 1)))
	return b.String()
}

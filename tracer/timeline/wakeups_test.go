package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// idleOn is the header of a recording that tells what wakes.
const idleOn = `header {"start_ns":10000000000,"recorder_pid":900,"probes":[{"name":"sched","status":"on","via":"tp_btf"},
{"name":"process","status":"on"},{"name":"irq","status":"on"}]}`

func idle(text string) string { return strings.ReplaceAll(idleOn, "\n", "") + "\n" + text }

// sources writes what woke a thread as "by number tid syscall: count".
func sources(c *Wakeups, th *Thread) string {
	var list []string
	for _, s := range c.Of(th) {
		waker := uint32(0)
		if s.Waker != nil {
			waker = s.Waker.TID
		}
		list = append(list, fmt.Sprintf("%s %d %d %d: %d", s.By, s.Number, waker, s.Syscall, s.Count))
	}
	return strings.Join(list, ", ")
}

func TestWakeups(t *testing.T) {
	for _, c := range []struct {
		name, trace, want  string
		wakeups, voluntary uint64
	}{
		{"a timer, an interrupt and a task", `
			10.000 [0] 0 switch next=100
			10.010 [0] 100 switch next=0 state=sleeping syscall=35
			10.020 [0] 0 waking target=100 by=timer
			10.020 [0] 0 switch next=100
			10.021 [0] 100 switch next=0 state=sleeping syscall=35
			10.030 [0] 0 waking target=100 by=timer
			10.030 [0] 0 switch next=100
			10.031 [0] 100 switch next=0 state=io_wait syscall=0
			10.040 [0] 0 waking target=100 by=irq number=24
			10.040 [0] 0 switch next=100
			10.041 [0] 100 switch next=0 state=sleeping syscall=7
			10.050 [1] 0 switch next=101
			10.051 [1] 101 waking target=100 by=task
			10.051 [0] 0 switch next=100
			trailer {"end_ns":10100000000}`,
			"timer 0 0 35: 2, irq 24 0 0: 1, task 0 101 7: 1", 4, 4},
		{"woken from another CPU before it has gone to sleep: that counts", `
			10.000 [0] 0 switch next=100
			10.000 [1] 0 switch next=101
			10.009 [1] 101 waking target=100 by=task
			10.010 [0] 100 switch next=0 state=sleeping syscall=35
			10.011 [0] 0 switch next=100
			trailer {"end_ns":10100000000}`,
			"task 0 101 35: 1", 1, 1},
		{"woken on its own CPU before it has gone to sleep: it doesn't sleep", `
			10.000 [0] 0 switch next=100
			10.009 [0] 100 waking target=100 by=timer
			10.010 [0] 100 switch next=0 state=preempted
			10.011 [0] 0 switch next=100
			trailer {"end_ns":10100000000}`,
			"", 0, 0},
		{"an end is a voluntary switch without a wake-up", `
			10.000 [0] 0 switch next=100
			10.009 [0] 100 exit flags=1
			10.010 [0] 100 switch next=0 state=dead
			trailer {"end_ns":10100000000}`,
			"", 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var collected Wakeups
			tl := build(t, idle(c.trace), &collected)
			for _, th := range tl.Threads {
				if th.TID != 100 {
					continue
				}
				if got := sources(&collected, th); got != c.want {
					t.Errorf("woken by %q, want %q", got, c.want)
				}
				if th.Wakeups != c.wakeups || th.Voluntary != c.voluntary {
					t.Errorf("%d wake-ups, %d voluntary switches, want %d and %d", th.Wakeups, th.Voluntary, c.wakeups, c.voluntary)
				}
			}
		})
	}
}

func TestRhythm(t *testing.T) {
	repeat := func(n int, us ...uint32) (list []uint32) {
		for range n {
			list = append(list, us...)
		}
		return list
	}
	for _, c := range []struct {
		name      string
		intervals []uint32
		period    uint64
		regular   bool
	}{
		{"too few", repeat(7, 1000), 0, false},
		{"a clock", repeat(100, 16_667), 16_667_000, true},
		{"a clock that somebody disturbs now and then", append(repeat(100, 16_600, 16_700), repeat(2, 900_000)...), 16_700_000, true},
		{"bursts", append(repeat(100, 200), repeat(20, 900_000)...), 200_000, false},
		{"two timers at once", repeat(50, 10_000, 3_000), 10_000_000, false},
		{"at random", []uint32{10, 200, 3000, 15, 700, 90, 20_000, 5, 60, 1000}, 200_000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := WakeSource{intervals: c.intervals, first: 1, last: 1, Count: uint64(len(c.intervals)) + 1}
			for _, us := range c.intervals {
				s.last += uint64(us) * 1000
			}
			if period, regular := s.Rhythm(); period != c.period || regular != c.regular {
				t.Errorf("period %d, regular %v, want %d, %v", period, regular, c.period, c.regular)
			}
		})
	}
}

func TestWakeupsAreBounded(t *testing.T) {
	c, th := &Wakeups{}, &Thread{}
	for i := range 3 * maxIntervals {
		c.Wakeup(&Wakeup{Thread: th, Time: uint64(i+1) * 5e6, By: event.WakerTimer})
	}
	s := c.Of(th)[0]
	if s.Count != 3*maxIntervals || len(s.intervals) != maxIntervals {
		t.Errorf("%d wake-ups, %d intervals kept", s.Count, len(s.intervals))
	}
}

func TestInterrupts(t *testing.T) {
	tl := build(t, idle(`
		10.100 0 interrupts count=7 total=0.0001s by=irq number=24 name="virtio1"
		trailer {"end_ns":10100000000}`))
	if got, want := fmt.Sprint(tl.Interrupts), "[{irq 24 virtio1 7 100000}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := tl.InterruptName(event.WakerIrq, 24); got != "virtio1" {
		t.Errorf("interrupt 24 is called %q", got)
	}
}

// TestTransitions counts changes of frequency as the kernel does.
func TestTransitions(t *testing.T) {
	const clock = "10.005 0 clock reason=at_start\n"
	for _, c := range []struct {
		name, trace string
		want        uint64
	}{
		{"changes and a notification that nothing changed", clock + `
			10.010 [0] 0 cpufreq target_cpu=0 frequency=1800000kHz
			10.020 [0] 0 cpufreq target_cpu=0 frequency=1800000kHz
			10.030 [0] 0 cpufreq target_cpu=0 frequency=600000kHz`, 2},
		{"the first event after the header was read says what it says", clock + `
			10.010 [0] 0 cpufreq target_cpu=0 frequency=600000kHz`, 0},
		{"the change before the header was read led to what it says", `
			10.001 [0] 0 cpufreq target_cpu=0 frequency=600000kHz
			` + clock, 1},
		{"before and after the recording", `
			9.999 [0] 0 cpufreq target_cpu=0 frequency=1800000kHz
			` + clock + `
			10.010 [0] 0 cpufreq target_cpu=0 frequency=600000kHz
			10.200 [0] 0 cpufreq target_cpu=0 frequency=1800000kHz`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := build(t, c.trace+"\ntrailer {\"end_ns\":10100000000}")
			if got := tl.Policies[0].Transitions; got != c.want {
				t.Errorf("%d transitions, want %d", got, c.want)
			}
		})
	}
}

package findings

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// What findings about idle machines have in common.

// idle tells whether the recording can say who wakes whom, for long enough to call it a habit.
func (r *Recording) idle() bool {
	return r.Wakeups != nil && r.Can.Wakers && r.Duration() > 0
}

// perSecond is how often something happened.
func (r *Recording) perSecond(count uint64) float64 {
	return float64(count) * 1e9 / float64(max(r.Duration(), 1))
}

// share writes a time as a share of all CPUs' time.
func (r *Recording) share(ns uint64) string {
	return fmt.Sprintf("%.2f %% of all CPU time", 100*float64(ns)/float64(max(r.CPUTime(r.Start, r.End), 1)))
}

// waits names what a thread sleeps in, "" if that isn't known.
func (r *Recording) waits(s *timeline.WakeSource) string {
	if s.Syscall == event.NoSyscall {
		return ""
	}
	return syscalls.Name(r.Header.Arch, s.Compat, s.Syscall)
}

func unitOf(p *timeline.Process) string {
	if p.Unit == nil {
		return ""
	}
	return p.Unit.Name
}

// rate writes how often per second.
func rate(perSecond float64) string {
	if perSecond >= 100 {
		return fmt.Sprintf("%.0f times/s", perSecond)
	}
	return fmt.Sprintf("%.1f times/s", perSecond)
}

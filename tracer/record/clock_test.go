//go:build linux && kerneltest

package record_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

const clockStep = 14 * time.Second

// stepClock moves the wall clock by a number of nanoseconds, which a second call takes back exactly.
func stepClock(t *testing.T, by time.Duration) {
	t.Helper()
	const adjSetOffset, adjNano = 0x0100, 0x2000
	adjust := unix.Timex{Modes: adjSetOffset | adjNano}
	adjust.Time.Sec, adjust.Time.Usec = int64(by/time.Second), int64(by%time.Second)
	if _, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &adjust); err != nil {
		t.Fatalf("setting the wall clock: %v", err)
	}
}

// TestClockSteps sets the wall clock forward in mid-recording, and back. There is a snapshot of the clocks
// for each step, and nothing else moves.
func TestClockSteps(t *testing.T) {
	s := startRecorder(t, record.Options{})
	stepClock(t, clockStep)
	time.Sleep(100 * time.Millisecond)
	stepClock(t, -clockStep)
	time.Sleep(100 * time.Millisecond)
	tr := s.stop(t)

	clocks := of[*event.Clock](tr, 0)
	var reasons []event.ClockReason
	var offsets []time.Duration // of the wall clock from the boot clock, against the first
	for _, c := range clocks {
		reasons = append(reasons, event.ClockReason(c.Reason))
		offsets = append(offsets, time.Duration(c.Realtime-c.Time)-time.Duration(clocks[0].Realtime-clocks[0].Time))
		if apart := time.Duration(c.Monotonic-c.Time) - time.Duration(clocks[0].Monotonic-clocks[0].Time); apart.Abs() > time.Millisecond {
			t.Errorf("the monotonic clock moved by %v against the boot clock", apart)
		}
	}
	t.Logf("snapshots: %v, the wall clock is off by %v", reasons, offsets)
	if len(clocks) != 4 || reasons[0] != event.ClockAtStart || reasons[1] != event.ClockStepped ||
		reasons[2] != event.ClockStepped || reasons[3] != event.ClockAtEnd {
		t.Fatalf("the snapshots of the clocks are %v; want start, two steps, end", reasons)
	}
	for i, want := range []time.Duration{0, clockStep, 0, 0} {
		if off := (offsets[i] - want).Abs(); off > 2*time.Millisecond {
			t.Errorf("snapshot %d: the wall clock is off by %v, want %v", i, offsets[i], want)
		}
	}
	if end := tr.Trailer().End; end < clocks[2].Time || end-tr.Header().Start > uint64(10*time.Second) {
		t.Errorf("a recording of less than a second lasted for %s", ms(end-tr.Header().Start))
	}
}

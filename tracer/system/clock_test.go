//go:build linux

package system

import (
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
)

// TestReadClocks compares the snapshot with the clocks as the standard library reads them.
func TestReadClocks(t *testing.T) {
	before, wallBefore := BootTime(), time.Now()
	c := ReadClocks(event.ClockAtEnd)
	after, wallAfter := BootTime(), time.Now()
	if c.Time < before || c.Time > after || event.ClockReason(c.Reason) != event.ClockAtEnd {
		t.Errorf("the snapshot is of %d, taken between %d and %d: %+v", c.Time, before, after, c)
	}
	if wall := time.Unix(0, int64(c.Realtime)); wall.Before(wallBefore.Round(0)) || wall.After(wallAfter.Round(0)) {
		t.Errorf("the wall clock is %v, read between %v and %v", wall, wallBefore, wallAfter)
	}
	if c.Monotonic > c.Time+1e6 {
		t.Errorf("the monotonic clock, %d, is ahead of the boot clock, %d, which counts suspend too", c.Monotonic, c.Time)
	}
}

// TestStepWatcherEnds: closing a watcher ends it, and a clock that nobody sets gives no steps.
func TestStepWatcherEnds(t *testing.T) {
	w, err := WatchSteps()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	select {
	case step := <-w.Steps:
		t.Errorf("a step of the wall clock that nobody has set: %+v", step)
	case <-time.After(20 * time.Millisecond):
	}
}

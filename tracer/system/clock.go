//go:build linux

package system

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// BootTime returns the nanoseconds since boot, suspend included: the one clock of a trace.
func BootTime() uint64 { return readClock(unix.CLOCK_BOOTTIME) }

func readClock(clock int32) uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic("clock_gettime: " + err.Error()) // only for a clock that doesn't exist
	}
	return uint64(ts.Nano())
}

// ReadClocks reads all clocks as nearly together as can be had: of several tries, the one during
// which the boot clock moved least.
func ReadClocks(reason event.ClockReason) *event.Clock {
	e := event.New(event.KindClock).(*event.Clock)
	e.Reason = uint32(reason)
	best := ^uint64(0)
	for range 5 {
		before := BootTime()
		realtime, monotonic := readClock(unix.CLOCK_REALTIME), readClock(unix.CLOCK_MONOTONIC)
		if took := BootTime() - before; took < best {
			best = took
			e.Time, e.Realtime, e.Monotonic = before+took/2, realtime, monotonic
		}
	}
	return e
}

// A StepWatcher tells when somebody sets the wall clock.
type StepWatcher struct {
	timer *os.File
	// Steps gets an event after each step.
	Steps chan *event.Clock
}

// tfdTimerCancelOnSet is TFD_TIMER_CANCEL_ON_SET of linux/timerfd.h.
const tfdTimerCancelOnSet = 1 << 1

// WatchSteps begins to watch. It costs nothing until the clock is set.
func WatchSteps() (*StepWatcher, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	w := &StepWatcher{timer: os.NewFile(uintptr(fd), "clock-steps"), Steps: make(chan *event.Clock, 16)}
	if err := arm(fd); err != nil {
		w.timer.Close()
		return nil, err
	}
	go w.run(fd)
	return w, nil
}

// arm sets a timer that never expires; setting the clock cancels it.
func arm(fd int) error {
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: math.MaxInt & (1<<33 - 1)}}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|tfdTimerCancelOnSet, &never, nil); err != nil {
		return fmt.Errorf("timerfd_settime: %w", err)
	}
	return nil
}

func (w *StepWatcher) run(fd int) {
	var expirations [8]byte
	for {
		_, err := w.timer.Read(expirations[:])
		if !errors.Is(err, unix.ECANCELED) {
			return // closed
		}
		select {
		case w.Steps <- ReadClocks(event.ClockStepped):
		default: // somebody sets the clock faster than anybody reads: the last ones are enough
		}
		if arm(fd) != nil {
			return
		}
	}
}

// Close ends the watch.
func (w *StepWatcher) Close() error { return w.timer.Close() }

//go:build linux

package system

import "golang.org/x/sys/unix"

// Suspended is how long the machine has slept since boot: what CLOCK_BOOTTIME is ahead of
// CLOCK_MONOTONIC, which systemd, the journal and the kernel's log go by.
func Suspended() uint64 {
	best, ahead := ^uint64(0), uint64(0)
	for range 5 {
		before := BootTime()
		monotonic := readClock(unix.CLOCK_MONOTONIC)
		after := BootTime()
		if after-before < best {
			best, ahead = after-before, (before+(after-before)/2)-monotonic
		}
	}
	if ahead < 1e6 || ahead > 1<<62 { // the two were only read one after the other
		return 0
	}
	return ahead
}

// fromMonotonic converts microseconds of CLOCK_MONOTONIC, as systemd writes them. What is unset (0, or
// all ones) or was computed below zero is 0.
func fromMonotonic(us, suspended uint64) uint64 {
	if us == 0 || us > 1<<50 { // 35 years
		return 0
	}
	return us*1000 + suspended
}

//go:build linux

package record

import (
	"os"
	"strconv"
)

// drainSlack is how much later than asked for the recorder's timers may fire, in nanoseconds.
const drainSlack = "10000000"

// relaxTimers lets the kernel put off this process's timers until the CPU is awake for something else. While any
// goroutine runs, Go's monitor thread sleeps for 20 us at a time, again and again: that took a fifth of the
// recorder's CPU time, and preempted what was recorded. Processes and threads that come later inherit the slack,
// so that commands must be started before. Without CAP_SYS_NICE nothing changes.
func relaxTimers() {
	for _, tid := range ownThreads() {
		_ = os.WriteFile("/proc/"+strconv.Itoa(tid)+"/timerslack_ns", []byte(drainSlack), 0)
	}
}

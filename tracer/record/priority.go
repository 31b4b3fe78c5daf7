//go:build linux

package record

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// drainPriority is the nice value while draining. The recorder needs little CPU time, but soon: on a
// machine where every CPU is busy, as in a boot, the buffers fill while it waits for its turn.
const drainPriority = -10

// preferDraining raises the priority of the calling goroutine, which keeps its thread from now on, and
// returns what takes that back. Without CAP_SYS_NICE nothing changes.
func preferDraining() func() {
	runtime.LockOSThread()
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, drainPriority)
	}
	return func() {
		if err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-before) // the system call returns 20 - nice
		}
		runtime.UnlockOSThread()
	}
}

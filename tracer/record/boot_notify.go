//go:build linux

package record

import (
	"net"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// notifyReady tells systemd, if it started this process and waits for it, to go on. Later calls do
// nothing.
var notifyReady = sync.OnceFunc(func() { notify("READY=1") })

// notify sends a message to who started this process, if it takes any (sd_notify(3)).
func notify(message string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	// A name that begins with @ is in no file system, for package net as for systemd.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return // systemd will give up waiting
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(message))
}

// niceness of the recorder once it has attached: a third of the weight of others. What it drains has room
// to wait, but with 10 it came to its first round half a minute late in a busy boot.
const niceness = 5

// stepBack lets everybody else have the CPU first. Every thread has a niceness of its own, and where the
// kernel groups tasks by session (autogroup), the group has one too.
func stepBack() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, niceness)
		}
	}
	if sid, err := unix.Getsid(0); err == nil && sid == os.Getpid() { // otherwise it is somebody else's
		_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(niceness)), 0)
	}
}

//go:build linux

package system

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A CPUWatcher tells when CPUs go offline or come online.
type CPUWatcher struct {
	socket *os.File
	// Changes gets them in order, each with the time when it was known here.
	Changes chan tracefile.CPUChange
}

// maxCPUChanges is how many can wait to be taken: all CPUs of a large machine at once.
const maxCPUChanges = 1024

// WatchCPUs listens to what the kernel tells udev: it costs nothing until a CPU changes. A kernel without
// CONFIG_NET has no such socket.
func WatchCPUs() (*CPUWatcher, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("socket for uevents: %w", err)
	}
	w := &CPUWatcher{socket: os.NewFile(uintptr(fd), "uevents"), Changes: make(chan tracefile.CPUChange, maxCPUChanges)}
	if err := listenForCPUs(fd); err != nil {
		w.socket.Close()
		return nil, err
	}
	return w, nil
}

// listenForCPUs lets only actions "online" and "offline" through: a boot has thousands of others.
func listenForCPUs(fd int) error {
	const word = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	const equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: word, K: 0},
		{Code: equal, K: wordOf("offl"), Jt: 1},
		{Code: equal, K: wordOf("onli"), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	if err != nil {
		return fmt.Errorf("filter for uevents: %w", err)
	}
	const kernelGroup = 1 // udev's own messages are another
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		return fmt.Errorf("listening for uevents: %w", err)
	}
	return nil
}

// wordOf gives four characters as the filter loads them.
func wordOf(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

// Run fills Changes until the watch is closed, and calls woken after each. What came since WatchCPUs is
// among them.
func (w *CPUWatcher) Run(woken func()) {
	message := make([]byte, 8<<10)
	for {
		n, err := w.socket.Read(message)
		if errors.Is(err, unix.ENOBUFS) {
			continue // the kernel had no memory for one
		}
		if err != nil {
			return // closed
		}
		change, ok := parseCPUChange(message[:n])
		if !ok {
			continue
		}
		change.Time = BootTime()
		select {
		case w.Changes <- change:
			woken()
		default: // nobody has taken any for long
		}
	}
}

// parseCPUChange understands "offline@/devices/system/cpu/cpu1" and what follows it.
func parseCPUChange(message []byte) (c tracefile.CPUChange, ok bool) {
	first, _, _ := bytes.Cut(message, []byte{0})
	action, device, _ := strings.Cut(string(first), "@")
	number, isCPU := strings.CutPrefix(path.Base(device), "cpu")
	if path.Dir(device) != "/devices/system/cpu" || !isCPU || action != "online" && action != "offline" {
		return c, false
	}
	cpu, err := strconv.ParseUint(number, 10, 16)
	return tracefile.CPUChange{CPU: int(cpu), Online: action == "online"}, err == nil
}

// Close ends the watch.
func (w *CPUWatcher) Close() error { return w.socket.Close() }

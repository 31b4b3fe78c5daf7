//go:build linux

package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// readWhole reads a file of /proc or /sys, whose size nobody knows before. A recording reads hundreds of
// them when it begins: os.ReadFile makes twice as many system calls, to see whether it could wait for the file.
func readWhole(file string) ([]byte, error) {
	fd, err := retried(func() (int, error) { return unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	var small [4096]byte // most are smaller
	var content []byte
	room := small[:]
	for {
		n, err := retried(func() (int, error) { return unix.Read(fd, room) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: file, Err: err}
		}
		if n == 0 {
			return content, nil
		}
		content = append(content, room[:n]...)
	}
}

func retried(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

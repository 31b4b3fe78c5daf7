//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asLoad as the first argument makes a load of this program: a tight loop of one system call. It prints
// what each took, in nanoseconds of wall time and of CPU time.
const asLoad = "as-load"

// closeEvery is how many files are opened before all are closed, by one system call.
const closeEvery = 500

// loadArgs is the command line of a load.
func loadArgs(name string, args ...string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err) // /proc is there: nothing else works without
	}
	return append([]string{exe, asLoad, name}, args...)
}

// runLoad runs a load: "calls N", "open N FILE", "open-each N DIR" or "map N FILE rx".
func runLoad(name string, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var took spent
	switch name {
	case "calls":
		took = repeatCalls(n)
	case "open":
		file := cString(args[1])
		took = openAll(n, func(int) *byte { return file })
	case "open-each":
		took = openAll(n, func(i int) *byte { return cString(eachName(args[1], i)) })
	case "map":
		took, err = mapAll(n, args[1], args[2])
	default:
		return fmt.Errorf("there is no load %q", name)
	}
	if err != nil {
		return err
	}
	fmt.Println(float64(took.wall.Nanoseconds())/float64(n), float64(took.cpu.Nanoseconds())/float64(n))
	return nil
}

// spent is time that went by, and how much of it the calling thread was on a CPU: what it took on a machine that
// has other things to do as well.
type spent struct{ wall, cpu time.Duration }

// stopwatch starts to measure what the calling goroutine's loop takes.
func stopwatch() (stop func() spent) {
	runtime.LockOSThread()
	begin, cpu := time.Now(), threadCPU()
	return func() spent { return spent{time.Since(begin), threadCPU() - cpu} }
}

func threadCPU() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has it
	return time.Duration(t.Nano())
}

// repeatCalls calls what nobody records.
func repeatCalls(n int) spent {
	stop := stopwatch()
	for range n {
		_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return stop()
}

// openAll opens n files, whether they exist or not. The loop itself makes nothing but system calls.
func openAll(n int, name func(i int) *byte) spent {
	names := make([]*byte, n)
	for i := range names {
		names[i] = name(i)
	}
	const atCWD = ^uintptr(100 - 1)
	stop := stopwatch()
	for i, name := range names {
		_, _, _ = unix.RawSyscall6(unix.SYS_OPENAT, atCWD, uintptr(unsafe.Pointer(name)), unix.O_RDONLY, 0, 0, 0)
		if i%closeEvery == closeEvery-1 {
			_ = unix.CloseRange(20, 20+2*closeEvery, 0) // Go's own are below
		}
	}
	return stop()
}

// mapAll maps the first part of a file, or memory without one, and unmaps it.
func mapAll(n int, file, rights string) (spent, error) {
	const size = 256 << 10
	var fd, flags uintptr = ^uintptr(0), unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return spent{}, err
		}
		defer f.Close()
		fd, flags = f.Fd(), unix.MAP_PRIVATE
	}
	var protection uintptr = unix.PROT_READ
	if rights == "rx" {
		protection |= unix.PROT_EXEC
	}
	stop := stopwatch()
	for range n {
		at, _, errno := unix.RawSyscall6(unix.SYS_MMAP, 0, size, protection, flags, fd, 0)
		if errno != 0 {
			return spent{}, fmt.Errorf("mapping %s: %w", file, errno)
		}
		_, _, _ = unix.RawSyscall(unix.SYS_MUNMAP, at, size, 0)
	}
	return stop(), nil
}

func cString(s string) *byte {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err) // names of this program's own making
	}
	return p
}

func eachName(dir string, i int) string { return fmt.Sprintf("%s/module_%05d.pyc", dir, i) }

// makeFiles makes the files that open-each opens.
func makeFiles(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(eachName(dir, i), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

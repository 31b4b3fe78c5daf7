//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asLoad as the first argument makes a load of this program: a tight loop of one system call. It prints
// what each took, in nanoseconds.
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

// runLoad runs a load: "calls N", "open N FILE" or "open-each N DIR".
func runLoad(name string, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var took time.Duration
	switch name {
	case "calls":
		took = repeatCalls(n)
	case "open":
		file := cString(args[1])
		took = openAll(n, func(int) *byte { return file })
	case "open-each":
		took = openAll(n, func(i int) *byte { return cString(eachName(args[1], i)) })
	default:
		return fmt.Errorf("there is no load %q", name)
	}
	fmt.Println(float64(took.Nanoseconds()) / float64(n))
	return nil
}

// repeatCalls calls what nobody records.
func repeatCalls(n int) time.Duration {
	begin := time.Now()
	for range n {
		_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return time.Since(begin)
}

// openAll opens n files, whether they exist or not. The loop itself makes nothing but system calls.
func openAll(n int, name func(i int) *byte) time.Duration {
	names := make([]*byte, n)
	for i := range names {
		names[i] = name(i)
	}
	const atCWD = ^uintptr(100 - 1)
	begin := time.Now()
	for i, name := range names {
		_, _, _ = unix.RawSyscall6(unix.SYS_OPENAT, atCWD, uintptr(unsafe.Pointer(name)), unix.O_RDONLY, 0, 0, 0)
		if i%closeEvery == closeEvery-1 {
			_ = unix.CloseRange(20, 20+2*closeEvery, 0) // Go's own are below
		}
	}
	return time.Since(begin)
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

//go:build linux

// Package bootinit is bootscope as the machine's first process (init= or rdinit= on the kernel's command
// line): it starts the recorder as a child and becomes the real init. Whatever fails or hangs, the real
// init runs. It must not know how anything is recorded.
package bootinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Name is what the program is called as the first process.
const Name = "bootscope-init"

// startLimit is how long each step to the recorder may take: it is a few system calls, but the program may come
// from a disk that hangs.
const startLimit = 5 * time.Second

// Run starts the recorder and becomes the real init, with the arguments and the environment that the
// kernel gave. It returns only if there is no init that can be executed.
func Run(args []string) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("%s is for the kernel's command line: init=/usr/bin/%s, or rdinit= in an initramfs", Name, Name)
	}
	line := within(startLimit, func() *commandLine { return told(readCommandLine()) })
	if line == nil {
		return become("", args)
	}
	if !line.off {
		r := within(startLimit, func() *recorder { return told(start(args[0], line.hold > 0)) })
		if r != nil {
			within(line.hold, r.attached)
		}
	}
	return become(line.init, args)
}

// told says on the console why nothing is recorded, if it isn't.
func told[T any](result *T, err error) *T {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: this boot is not recorded: %v\n", Name, err)
		return nil
	}
	return result
}

// within does what f does, but waits for it no longer than a limit, and survives its panics.
func within[T any](limit time.Duration, f func() T) (result T) {
	done := make(chan T, 1)
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		done <- f()
	}()
	select {
	case result = <-done:
	case <-time.After(limit):
	}
	return result
}

// become executes the real init: the named one, or what the kernel would have executed.
func become(named string, args []string) error {
	var failed []error
	for _, name := range candidates(named) {
		if same(name, args[0]) {
			continue // this program again, without an end
		}
		err := syscall.Exec(name, append([]string{name}, args[1:]...), os.Environ())
		failed = append(failed, fmt.Errorf("%s: %w", name, err))
	}
	return fmt.Errorf("no init can be executed (bootscope.init=/path on the kernel's command line names one): %w", errors.Join(failed...))
}

// candidates are the real inits to try. An initramfs has its own in /init.
func candidates(named string) (list []string) {
	if filepath.IsAbs(named) {
		list = append(list, named)
	}
	if inMemory("/") {
		list = append(list, "/init")
	}
	return append(list, "/sbin/init", "/etc/init", "/bin/init", "/bin/sh")
}

func same(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// inMemory tells whether a directory is on a file system that an initramfs can be on.
func inMemory(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && (uint32(s.Type) == unix.RAMFS_MAGIC || uint32(s.Type) == unix.TMPFS_MAGIC) // of 32 bits on arm
}

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/bootinit"
	"github.com/bootscope/bootscope/tracer/bootunit"
)

// runAs is the program under another of its names: the machine's first process, or the recorder that it
// starts. mine is false under its usual one.
func runAs(args []string) (status int, mine bool) {
	var err error
	switch {
	case len(args) == 0:
		return 0, false
	case args[0] == bootinit.RecorderName && len(args) > 1:
		return run(args[1:], os.Stdin, os.Stdout, os.Stderr), true
	case args[0] == bootinit.RecorderName:
		status, err = statusFailed, becomeRecorder()
	case filepath.Base(args[0]) == bootinit.Name:
		status, err = statusFailed, bootinit.Run(args)
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bootscope: %s\n", oneLine(err))
	}
	return status, true
}

// becomeRecorder makes this process the recorder of a boot that begins before there is a system. It has the
// unit's options, if its root has any. The program begins anew, since packages look at /proc before main.
func becomeRecorder() error {
	if err := bootinit.SetUp(); err != nil {
		return err
	}
	system := bootunit.System{Root: "/"}
	if system.Installed() && !system.Armed() {
		os.Exit(0)
	}
	options, err := system.Options()
	if err != nil {
		return err
	}
	self, err := os.Readlink("/proc/self/exe") // the process gets its name from the path
	if err != nil {
		return fmt.Errorf("cannot find this program's file: %w", err)
	}
	args := append([]string{bootinit.RecorderName, "record", "--boot", "--early"}, options...)
	return fmt.Errorf("cannot execute the recorder: %w", unix.Exec(self, args, os.Environ()))
}

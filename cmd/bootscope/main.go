// Command bootscope records what a Linux machine does, from its first user-space instruction on, and
// says where the time went.
//
// This package knows the command line only: each subcommand is a thin file that calls a package.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The exit statuses of bootscope itself; record passes on its command's.
const (
	statusFailed = 1
	statusUsage  = 2
)

func main() {
	if status, mine := runAs(os.Args); mine {
		os.Exit(status)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run carries out a command line and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	began := false
	root := newRootCommand(&began)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteC()
	var status exitStatus
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case !began || errors.As(err, &usage):
		fmt.Fprintf(stderr, "bootscope: %s\nSee %s --help.\n", oneLine(err), command.CommandPath())
		return statusUsage
	}
	fmt.Fprintf(stderr, "bootscope: %s\n", oneLine(err))
	return statusFailed
}

// oneLine keeps a message on its line: errors that were joined have line breaks of their own.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// A usageError is a mistake in the command line that only its command can see.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitStatus ends bootscope with a status and no message: what was recorded has said enough.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

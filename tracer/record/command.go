//go:build linux

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A commandError tells why the command was not run, with the status that a shell would give.
type commandError struct {
	status int
	error
}

func (e *commandError) Unwrap() error { return e.error }

func statusOf(err error) int {
	var failed *commandError
	if errors.As(err, &failed) {
		return failed.status
	}
	return 1
}

// findCommand returns where a command is, or "" for none. It fails as a shell does: status 127 for a
// command that doesn't exist, 126 for one that can't be run.
func findCommand(argv []string) (string, error) {
	if len(argv) == 0 {
		return "", nil
	}
	path, err := exec.LookPath(argv[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // as the user asked for
	}
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EISDIR):
		return "", &commandError{126, fmt.Errorf("cannot run %q: %w", argv[0], err)}
	}
	return "", &commandError{127, fmt.Errorf("command not found: %q", argv[0])}
}

// A command runs while it is recorded.
type command struct {
	cmd     *exec.Cmd
	ended   chan struct{} // closed when it has ended
	status  int           // as a shell reports it; valid once ended
	signals chan os.Signal
}

// startCommand runs argv with this process's standard input and error and passes signals on to it.
func startCommand(path string, argv []string, stdout *os.File) (*command, error) {
	c := &command{
		cmd:     &exec.Cmd{Path: path, Args: argv, Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr},
		ended:   make(chan struct{}),
		signals: make(chan os.Signal, 16),
	}
	signal.Notify(c.signals, append(endings(), unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH)...)
	if err := c.cmd.Start(); err != nil {
		signal.Stop(c.signals)
		return nil, &commandError{126, fmt.Errorf("cannot run %q: %w", argv[0], err)}
	}
	go c.wait()
	go c.forward()
	return c, nil
}

func (c *command) wait() {
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.status = 1
	} else if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		c.status = 128 + int(ws.Signal())
	} else {
		c.status = ws.ExitStatus()
	}
	signal.Stop(c.signals)
	close(c.ended)
}

func (c *command) forward() {
	for {
		select {
		case s := <-c.signals:
			if !fromTerminal(s) {
				_ = c.cmd.Process.Signal(s) // it may just have ended
			}
		case <-c.ended:
			return
		}
	}
}

// fromTerminal tells whether the terminal sent the signal to the whole foreground group, the command
// included: passing it on would deliver it twice.
func fromTerminal(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGWINCH && s != unix.SIGCONT {
		return false
	}
	foreground, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

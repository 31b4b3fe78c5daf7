//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A tracer is something that runs beside the load.
type tracer struct {
	name    string
	command []string // nil for none
	output  string   // a file that it may write
}

// settle is how long a tracer is given until the load starts.
const settle = 1500 * time.Millisecond

// A running tracer.
type running struct {
	cmd *exec.Cmd // nil for none
}

// start starts a tracer; it returns nil for one that isn't installed.
func (t *tracer) start() (*running, error) {
	if len(t.command) == 0 {
		return &running{}, nil
	}
	if _, err := exec.LookPath(t.command[0]); err != nil {
		return nil, nil
	}
	os.RemoveAll(t.output)
	r := &running{cmd: exec.Command(t.command[0], t.command[1:]...)}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Stdout, r.cmd.Stderr = io.Discard, io.Discard
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	return r, nil
}

// stop ends a tracer as Ctrl-C would and returns its CPU time.
func (r *running) stop() (cpu time.Duration, err error) {
	if r.cmd == nil {
		return 0, nil
	}
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	select {
	case err = <-done:
	case <-time.After(60 * time.Second):
		_ = r.cmd.Process.Kill()
		return 0, fmt.Errorf("%s did not end within 60 s", r.cmd.Path)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) { // some end with a signal's status
		err = nil
	}
	return r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime(), err
}

// size of what a tracer has written, in bytes.
func (t *tracer) size() int64 {
	info, err := os.Stat(t.output)
	if err != nil {
		return 0
	}
	return info.Size()
}

// load runs a command and returns its wall time, its CPU time with its children's, and its output.
func load(argv ...string) (wall, cpu time.Duration, output string, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err = cmd.Run()
	wall = time.Since(begin)
	if err != nil {
		return 0, 0, "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out.String())
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out.String(), nil
}

// without lists all probes but some, for bootscope record --without.
func without(keep ...string) string {
	var off []string
	for _, name := range allProbes {
		found := false
		for _, k := range keep {
			found = found || k == name
		}
		if !found {
			off = append(off, name)
		}
	}
	return strings.Join(off, ",")
}

const statsSysctl = "/proc/sys/kernel/bpf_stats_enabled"

// switchStats returns a function that switches the kernel's BPF statistics, and one that leaves them as
// they were.
func switchStats() (set func(on bool) error, restore func(), err error) {
	before, err := os.ReadFile(statsSysctl)
	if err != nil {
		return nil, nil, err
	}
	set = func(on bool) error {
		value := "0"
		if on {
			value = "1"
		}
		return os.WriteFile(statsSysctl, []byte(value), 0)
	}
	return set, func() { _ = os.WriteFile(statsSysctl, before, 0) }, nil
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A tracer is something that runs beside the load, and what was measured with it, round by round.
type tracer struct {
	name    string
	command []string                  // a program of its own; nil for none
	attach  func() (io.Closer, error) // instead: a BPF program of this process
	prefix  []string                  // instead: a command that runs the load
	output  string                    // what it writes: its size is measured
	end     syscall.Signal            // that ends it; 0 is SIGINT
	missing string                    // why it can't be measured here

	wall, cpu sample       // of the load, seconds
	own       sample       // CPU time of the tracer since the load began, its end included, seconds
	size      sample       // of the output, bytes
	told      spentSamples // what the load itself said of each call, if it did
}

// settle is how long a tracer is given until the load starts.
var settle = 1500 * time.Millisecond

// turns runs a load beside each tracer in turn, back and forth (A B C C B A …), so that what changes
// slowly in the machine meets all of them.
func turns(rounds int, tracers []*tracer, prepare func() error, argv ...string) error {
	for round := range rounds {
		for i := range tracers {
			t := tracers[i]
			if round%2 == 1 {
				t = tracers[len(tracers)-1-i]
			}
			if err := t.turn(prepare, argv); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

func (t *tracer) turn(prepare func() error, argv []string) error {
	r, err := t.start()
	if err != nil || r == nil {
		return err
	}
	if prepare != nil {
		if err := prepare(); err != nil {
			return errors.Join(err, r.kill())
		}
	}
	before := r.cpu()
	wall, cpu, text, err := load(append(slices.Clone(t.prefix), argv...)...)
	if err != nil {
		return errors.Join(err, r.kill())
	}
	own, err := r.stop()
	if err != nil {
		return err
	}
	t.wall, t.cpu = append(t.wall, wall.Seconds()), append(t.cpu, cpu.Seconds())
	t.own = append(t.own, (own - before).Seconds())
	t.size = append(t.size, float64(t.written()))
	t.told.read(text)
	return nil
}

// written is the size of what the tracer has written, in bytes.
func (t *tracer) written() int64 {
	info, err := os.Stat(t.output)
	if err != nil {
		return 0
	}
	return info.Size()
}

// A running tracer.
type running struct {
	tracer   *tracer
	cmd      *exec.Cmd  // nil for none
	ended    chan error // of cmd
	attached io.Closer  // nil for none
}

// start starts a tracer; it returns nil for one that isn't installed or can't work here, and notes why.
func (t *tracer) start() (*running, error) {
	r := &running{tracer: t}
	argv := t.command
	if t.prefix != nil {
		argv = t.prefix
	}
	if len(argv) > 0 && t.missing == "" {
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.missing = "not installed"
		}
	}
	if t.missing != "" {
		return nil, nil
	}
	if t.attach != nil {
		var err error
		if r.attached, err = t.attach(); err != nil {
			t.missing = "does not work here: " + err.Error()
			return nil, nil
		}
	}
	if t.command == nil {
		return r, nil
	}
	return r.startCommand()
}

func (r *running) startCommand() (*running, error) {
	t := r.tracer
	os.RemoveAll(t.output)
	r.cmd = exec.Command(t.command[0], t.command[1:]...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var messages strings.Builder
	r.cmd.Stderr = &messages
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	r.ended = make(chan error, 1)
	go func() { r.ended <- r.cmd.Wait() }()
	select {
	case err := <-r.ended:
		said := strings.Join(strings.Fields(messages.String()), " ")
		t.missing = fmt.Sprintf("does not work here: %.100s (%v)", said, err)
		return nil, nil
	case <-time.After(settle):
		return r, nil
	}
}

// stop ends a tracer as its user would and returns its CPU time.
func (r *running) stop() (cpu time.Duration, err error) {
	if r.attached != nil {
		return 0, r.attached.Close()
	}
	if r.cmd == nil {
		return 0, nil
	}
	end := r.tracer.end
	if end == 0 {
		end = syscall.SIGINT
	}
	if err := syscall.Kill(-r.cmd.Process.Pid, end); err != nil {
		return 0, err
	}
	select {
	case err = <-r.ended:
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

// kill ends a tracer whose measurement has failed.
func (r *running) kill() error {
	if r.attached != nil {
		return r.attached.Close()
	}
	if r.cmd != nil {
		return r.cmd.Process.Kill()
	}
	return nil
}

// cpu is the CPU time of a tracer so far. What its children took isn't in it.
func (r *running) cpu() time.Duration {
	if r.cmd == nil {
		return 0
	}
	return cpuOf(r.cmd.Process.Pid)
}

// cpuOf is the CPU time that a process has taken until now, with its other threads that still live.
func cpuOf(pid int) (sum time.Duration) {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	tasks, _ := os.ReadDir(dir)
	for _, task := range tasks {
		text, _ := os.ReadFile(dir + task.Name() + "/schedstat")
		running, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(running, 10, 64)
		sum += time.Duration(ns)
	}
	return sum
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

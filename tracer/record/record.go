//go:build linux

package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Record records until the command ends, the duration is over or a signal comes, and returns the exit
// status to end with: the command's, or 0. With an error, the file (if there is one) is readable up to
// where it happened.
func Record(options Options) (int, error) {
	if err := checkPrivileges(); err != nil {
		return 1, err
	}
	path, err := findCommand(options.Command)
	if err != nil {
		return statusOf(err), err
	}
	early := catchEarly()
	defer signal.Stop(early)
	output, err := tracefile.Create(options.Output, options.Force)
	if err != nil {
		return 1, err
	}
	defer output.Abort() // unless it was committed
	if options.Idle {
		defer keepToOneCPU()()
	}
	r, err := attach(options)
	if err != nil {
		return 1, err
	}
	defer r.close()
	if err := r.loader.kernel.badFile; err != nil {
		return 1, err
	}
	stop := newStopper(r, options)
	defer stop.close()
	if err := early.err(); err != nil {
		return statusOf(err), err
	}
	if len(options.Milestones) > 0 {
		watch, err := newMilestoneWatch(r, options.Milestones, options.Until)
		if err != nil {
			return 1, err
		}
		defer watch.close()
		r.follower = watch
	}
	cmd, err := r.startCommand(path)
	if err != nil {
		return statusOf(err), err
	}
	reason, err := r.run(newBehind(output), cmd, stop)
	r.detach() // the command goes on untraced if recording failed
	status := waitFor(cmd)
	if err := errors.Join(err, output.Commit()); err != nil {
		return max(status, 1), fmt.Errorf("recording ended early: %w", err)
	}
	if !options.Idle { // what an idle machine does is told at once
		r.options.Notice("%s", r.summary(reason))
	}
	return status, nil
}

// earlySignals are those that come before anything is recorded: they must not leave a file behind.
type earlySignals chan os.Signal

func catchEarly() earlySignals {
	early := make(earlySignals, 1)
	signal.Notify(early, endings()...)
	return early
}

// endings are the signals that end a recording. SIGHUP doesn't if whoever started this program has it
// ignore that, as nohup does.
func endings() []os.Signal {
	list := []os.Signal{unix.SIGINT, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) {
		list = append(list, unix.SIGHUP)
	}
	return list
}

// err says that one came, with the status that a shell would give.
func (early earlySignals) err() error {
	select {
	case s := <-early:
		n := s.(unix.Signal)
		return &commandError{128 + int(n), fmt.Errorf("%s came before the recording began", unix.SignalName(n))}
	default:
		return nil
	}
}

func (r *recorder) startCommand(path string) (*command, error) {
	if path == "" {
		return nil, nil
	}
	stdout := os.Stdout
	if r.options.Output == "-" {
		stdout = os.Stderr // the trace has standard output for itself
	}
	return startCommand(path, r.options.Command, stdout)
}

// run writes the whole file and tells why it ended.
func (r *recorder) run(output io.Writer, cmd *command, stop *stopper) (string, error) {
	defer preferDraining()()
	relaxTimers()
	pid := 0
	if cmd != nil {
		pid = cmd.cmd.Process.Pid
		go func() {
			<-cmd.ended
			stop.because("the command ended")
		}()
	}
	header, err := r.header(pid)
	if err != nil {
		return "", err
	}
	writer, err := tracefile.NewWriter(output, header)
	if err != nil {
		return "", err
	}
	if live := r.options.Live; live != nil {
		live.Begin(header)
		writer.Tell(live)
	}
	if err := r.begin(writer); err != nil {
		return "", err
	}
	for {
		select {
		case reason := <-stop.reasons:
			var status *int
			if cmd != nil && reason == "the command ended" {
				status = &cmd.status
			}
			return reason, r.end(reason, status)
		default:
		}
		if err := r.round(stop.deadline); err != nil {
			return "", err
		}
		if r.follower == nil {
			continue
		}
		reason, err := r.follower.round()
		if err != nil {
			return "", err
		}
		if reason != "" {
			stop.because(reason)
		}
	}
}

// waitFor waits for the command, if there is one, and returns its status.
func waitFor(cmd *command) int {
	if cmd == nil {
		return 0
	}
	<-cmd.ended
	return cmd.status
}

// A stopper collects the reasons to stop: a signal, the time, the command's end.
type stopper struct {
	reasons  chan string
	deadline time.Time // zero without a duration
	signals  chan os.Signal
	timer    *time.Timer
	wake     func()
}

func newStopper(r *recorder, options Options) *stopper {
	s := &stopper{reasons: make(chan string, 4), signals: make(chan os.Signal, 4), wake: r.wake}
	if len(options.Command) == 0 {
		signal.Notify(s.signals, endings()...)
		go func() {
			for sig := range s.signals {
				s.because(unix.SignalName(sig.(unix.Signal)))
			}
		}()
	}
	if options.Duration > 0 {
		s.deadline = time.Now().Add(options.Duration)
		s.timer = time.AfterFunc(options.Duration, func() { s.because("the duration is over") })
	}
	return s
}

// because asks for the end of the recording. The first reason counts.
func (s *stopper) because(reason string) {
	select {
	case s.reasons <- reason:
	default:
	}
	s.wake()
}

func (s *stopper) close() {
	signal.Stop(s.signals)
	close(s.signals)
	if s.timer != nil {
		s.timer.Stop()
	}
}

//go:build linux && kerneltest

// The kernel tests record real loads on this machine, as root, and compare the trace with witnesses
// that know nothing of it: rusage, /proc, strace, perf, and the load itself, which tells what it did.
//
// Recorder and load are this test program again, as processes of their own: what is killed, stopped,
// denied or waited for is what a user would have.
package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/record"
)

// What the first argument makes of this program.
const (
	asRecorder = "as-recorder"
	asLoad     = "as-load"
)

func init() {
	if len(os.Args) > 2 && os.Args[1] == asLoad {
		runtime.LockOSThread() // so that a load's main goroutine is the process's first thread
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case asRecorder:
			os.Exit(runRecorder(os.Args[2]))
		case asLoad:
			os.Exit(runLoad(os.Args[2], os.Args[3:]))
		}
	}
	// By nohup, the tests ignore SIGHUP, and what they start would as well, unless they ask for the signal.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	os.Exit(m.Run())
}

// setup is what a recorder is told in its argument: options that can be written down, and more.
type setup struct {
	Output                string
	Force, NoArgs, NoBTF  bool
	Duration              time.Duration
	Command, Without      []string
	SampleHz, BufferBytes int
	Unmount               []string // file systems that the recorder shall not find
}

func setupOf(o record.Options) setup {
	return setup{o.Output, o.Force, o.NoArgs, o.NoBTF, o.Duration, o.Command, o.Without, o.SampleHz, o.BufferBytes, nil}
}

func (s setup) options() record.Options {
	return record.Options{
		Output: s.Output, Force: s.Force, NoArgs: s.NoArgs, NoBTF: s.NoBTF, Duration: s.Duration, Command: s.Command,
		Without: s.Without, SampleHz: s.SampleHz, BufferBytes: s.BufferBytes,
		Notice: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
}

func runRecorder(argument string) int {
	var s setup
	must(json.Unmarshal([]byte(argument), &s))
	for _, dir := range s.Unmount {
		for unix.Unmount(dir, unix.MNT_DETACH) == nil {
		}
	}
	status, err := record.Record(s.options())
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return status
}

// recorder returns a recorder that is yet to be started.
func recorder(t *testing.T, o record.Options) *exec.Cmd {
	t.Helper()
	return setupOf(o).recorder(t)
}

func (s setup) recorder(t *testing.T) *exec.Cmd {
	t.Helper()
	if s.Output == "" {
		t.Fatal("the test gives the recorder no output")
	}
	if s.SampleHz == 0 {
		s.SampleHz = record.DefaultSampleHz
	}
	if s.BufferBytes == 0 {
		s.BufferBytes = record.DefaultBufferBytes
	}
	argument, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(self(), asRecorder, string(argument))
}

func self() string {
	exe, err := os.Executable()
	must(err)
	return exe
}

// output returns a name for a trace that doesn't exist yet.
func output(t *testing.T) string { return filepath.Join(t.TempDir(), "t.bst") }

// A result is how a process ended.
type result struct {
	status         int // as a shell reports it
	stdout, stderr string
}

// run runs a command to its end.
func run(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	return start(t, cmd)()
}

// start starts a command and returns what waits for its end.
func start(t *testing.T, cmd *exec.Cmd) (wait func() result) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", cmd.Path, err)
	}
	return func() result {
		t.Helper()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatalf("waiting for %s: %v", cmd.Path, err)
		}
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		status := ws.ExitStatus()
		if ws.Signaled() {
			status = 128 + int(ws.Signal())
		}
		return result{status, stdout.String(), stderr.String()}
	}
}

// A session is a recorder that runs until it is stopped, without a command.
type session struct {
	cmd    *exec.Cmd
	wait   func() result
	output string
}

// startRecorder starts a session and waits until everything is attached.
func startRecorder(t *testing.T, o record.Options) *session {
	t.Helper()
	if o.Output == "" {
		o.Output = output(t)
	}
	s := &session{cmd: recorder(t, o), output: o.Output}
	s.wait = start(t, s.cmd)
	t.Cleanup(func() { s.cmd.Process.Kill() }) // if the test didn't come to its end
	partial(t, o.Output)
	return s
}

func (s *session) signal(t *testing.T, signal unix.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// stop ends the session and reads the trace.
func (s *session) stop(t *testing.T) *trace {
	t.Helper()
	s.signal(t, unix.SIGINT)
	if r := s.wait(); r.status != 0 {
		t.Fatalf("the recorder ended with status %d after SIGINT:\n%s", r.status, r.stderr)
	}
	return readWhole(t, s.output)
}

// partial waits until a recorder has written a header, and returns the name of its unfinished file. It
// does so when everything is attached.
func partial(t *testing.T, output string) string {
	t.Helper()
	for range 1000 {
		names, _ := filepath.Glob(output + ".partial-*")
		if len(names) == 1 {
			if info, err := os.Stat(names[0]); err == nil && info.Size() > 100 {
				return names[0]
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no recorder has begun to write %s for 10 s", output)
	return ""
}

// runWhole records a command that must succeed and reads the trace, which must be whole.
func runWhole(t *testing.T, o record.Options) (*trace, result) {
	t.Helper()
	if o.Output == "" {
		o.Output = output(t)
	}
	r := run(t, recorder(t, o))
	if r.status != 0 {
		t.Fatalf("recording %q ended with status %d:\n%s", o.Command, r.status, r.stderr)
	}
	return readWhole(t, o.Output), r
}

// loads are the programs to be recorded, by name.
var loads = map[string]func(args []string) any{}

// A load is a program to be recorded. It tells what it did as a T.
type load[T any] struct{ name string }

func newLoad[T any](name string, f func(args []string) T) load[T] {
	loads[name] = func(args []string) any { return f(args) }
	return load[T]{name}
}

func runLoad(name string, args []string) int {
	must(json.NewEncoder(os.Stdout).Encode(loads[name](args)))
	return 0
}

func (l load[T]) argv(args ...string) []string {
	return append([]string{self(), asLoad, l.name}, args...)
}

// command returns the load as a process that is yet to be started.
func (l load[T]) command(args ...string) *exec.Cmd {
	argv := l.argv(args...)
	return exec.Command(argv[0], argv[1:]...)
}

// record records the load and returns what the trace and the load itself tell.
func (l load[T]) record(t *testing.T, o record.Options, args ...string) (*trace, T) {
	t.Helper()
	o.Command = l.argv(args...)
	tr, r := runWhole(t, o)
	return tr, l.told(t, r)
}

func (l load[T]) told(t *testing.T, r result) (told T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &told); err != nil {
		t.Fatalf("load %s told %q (and %q): %v", l.name, r.stdout, r.stderr, err)
	}
	return told
}

// must is for loads, which have no test to fail: the trace back tells enough.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}

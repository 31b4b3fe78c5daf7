//go:build linux && kerneltest

package record_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// TestExitStatus records commands that end in different ways: the recorder ends like them.
func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/not-executable", "echo never\n", 0o644)
	write(t, dir+"/bad-format", "\x7fELF but not really\n", 0o755)
	write(t, dir+"/no-interpreter", "#!/no/such/shell\n", 0o755)
	for _, tt := range []struct {
		name    string
		command []string
		status  int
		message string // of the recorder; "" if the command ran and there is a trace
	}{
		{"success", []string{"true"}, 0, ""},
		{"exit 3", []string{"sh", "-c", "exit 3"}, 3, ""},
		{"exit 255", []string{"sh", "-c", "exit 255"}, 255, ""},
		{"killed by SIGTERM", []string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{"killed by SIGKILL", []string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{"no such command", []string{"no-such-command-anywhere"}, 127, `command not found: "no-such-command-anywhere"`},
		{"no such file", []string{dir + "/absent"}, 127, `command not found: "` + dir + `/absent"`},
		{"not executable", []string{dir + "/not-executable"}, 126, "permission denied"},
		{"a directory", []string{dir}, 126, "cannot run"},
		{"not a program", []string{dir + "/bad-format"}, 126, "exec format error"},
		{"no such interpreter", []string{dir + "/no-interpreter"}, 126, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := record.Options{Output: output(t), Command: tt.command}
			r := run(t, recorder(t, o))
			if r.status != tt.status {
				t.Errorf("status %d, want %d; the recorder says %q", r.status, tt.status, r.stderr)
			}
			if tt.message != "" {
				if !strings.Contains(r.stderr, tt.message) {
					t.Errorf("the recorder says %q, want %q in it", r.stderr, tt.message)
				}
				checkNoFiles(t, filepath.Dir(o.Output))
				return
			}
			tr := readWhole(t, o.Output)
			if got := tr.Trailer().ExitStatus; got == nil || *got != tt.status {
				t.Errorf("exit status in the trailer: %v, want %d", got, tt.status)
			}
			if got := tr.Trailer().Reason; got != "the command ended" {
				t.Errorf("it ended because %q, want because the command ended", got)
			}
		})
	}
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func checkNoFiles(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s holds %v (%v), want nothing", dir, entries, err)
	}
}

// signalled counts the signals that it gets, from when it has written the file until it was told SIGUSR2.
var signalled = newLoad("signalled", func(args []string) map[string]int {
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	must(os.WriteFile(args[0], nil, 0o600))
	counts := map[string]int{}
	for s := range signals {
		if s == unix.SIGUSR2 {
			return counts
		}
		counts[unix.SignalName(s.(syscall.Signal))]++
	}
	return counts
})

// TestSignalsAreForwarded sends signals to the recorder alone: its command gets each once and decides what
// to do, the recorder goes on.
func TestSignalsAreForwarded(t *testing.T) {
	ready := t.TempDir() + "/ready"
	o := record.Options{Output: output(t), Command: signalled.argv(ready)}
	cmd := recorder(t, o)
	wait := start(t, cmd)
	waitFor(t, ready)
	sent := []unix.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1}
	for _, s := range append(sent, unix.SIGUSR2) {
		cmd.Process.Signal(s)
		time.Sleep(20 * time.Millisecond) // pending signals have no order
	}
	r := wait()
	if r.status != 0 {
		t.Fatalf("status %d, want 0: %s", r.status, r.stderr)
	}
	got := signalled.told(t, r)
	for _, s := range sent {
		if got[unix.SignalName(s)] != 1 {
			t.Errorf("the command got %v, want each of %v once", got, sent)
			break
		}
	}
	readWhole(t, o.Output)
}

// TestCommandKeepsItsTimers: the recorder lets its own timers be late, and a process inherits that from who starts it.
func TestCommandKeepsItsTimers(t *testing.T) {
	const slack = "/proc/self/timerslack_ns"
	_, r := runWhole(t, record.Options{Command: []string{"sh", "-c", "sleep 0.2; exec cat " + slack}})
	if want := string(must1(exec.Command("cat", slack).Output())); r.stdout != want {
		t.Errorf("the command's timers may be late by %q ns, %q without a recorder", r.stdout, want)
	}
}

// TestKilledThroughRecorder sends SIGTERM to the recorder of a command that doesn't handle it.
func TestKilledThroughRecorder(t *testing.T) {
	ready := t.TempDir() + "/ready"
	o := record.Options{Output: output(t), Command: []string{"sh", "-c", "echo > " + ready + "; exec sleep 60"}}
	cmd := recorder(t, o)
	wait := start(t, cmd)
	waitFor(t, ready)
	cmd.Process.Signal(unix.SIGTERM)
	if r := wait(); r.status != 143 {
		t.Errorf("status %d, want 143: %s", r.status, r.stderr)
	}
	if got := readWhole(t, o.Output).Trailer().ExitStatus; got == nil || *got != 143 {
		t.Errorf("exit status in the trailer: %v, want 143", got)
	}
}

func waitFor(t *testing.T, file string) {
	t.Helper()
	for range 1000 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s was not written within 10 s", file)
}

// TestTerminalSignals types Ctrl-C at a terminal in whose foreground the recorder and its command are. The
// terminal tells both; the command must not hear it twice.
func TestTerminalSignals(t *testing.T) {
	master, slave := terminal(t)
	ready := t.TempDir() + "/ready"
	stdout := filepath.Join(t.TempDir(), "stdout")
	o := record.Options{Output: output(t), Command: []string{"sh", "-c", `exec "$@" > ` + stdout, "sh", self(), asLoad, signalled.name, ready}}
	cmd := recorder(t, o)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	wait := start(t, cmd)
	waitFor(t, ready)
	for range 2 {
		master.WriteString("\x03")
		time.Sleep(50 * time.Millisecond)
	}
	cmd.Process.Signal(unix.SIGUSR2) // this one is for the recorder to pass on
	r := wait()
	text, err := os.ReadFile(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if got := signalled.told(t, result{stdout: string(text)}); r.status != 0 || got["SIGINT"] != 2 {
		t.Errorf("status %d; the command got %v, want SIGINT twice: once for each Ctrl-C", r.status, got)
	}
	readWhole(t, o.Output)
}

// terminal makes a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestEndsWithoutCommand lets recordings end that have no command: by a signal, and after a duration.
func TestEndsWithoutCommand(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		session := startRecorder(t, record.Options{})
		session.signal(t, s)
		if r := session.wait(); r.status != 0 {
			t.Errorf("%v: status %d, want 0: %s", s, r.status, r.stderr)
		}
		trailer := readWhole(t, session.output).Trailer()
		if trailer.Reason != unix.SignalName(s) || trailer.ExitStatus != nil {
			t.Errorf("%v: it ended because %q, with status %v", s, trailer.Reason, trailer.ExitStatus)
		}
	}
	tr, _ := runWhole(t, record.Options{Duration: 700 * time.Millisecond})
	lasted := time.Duration(tr.Trailer().End - tr.Header().Start)
	if tr.Trailer().Reason != "the duration is over" || lasted < 600*time.Millisecond || lasted > 3*time.Second {
		t.Errorf("a recording of 700 ms lasted for %v and ended because %q", lasted, tr.Trailer().Reason)
	}
}

// TestSignalWhileAttaching interrupts a recorder that is not ready yet: nothing is run, nothing is left.
func TestSignalWhileAttaching(t *testing.T) {
	for _, command := range [][]string{nil, {"touch", filepath.Join(t.TempDir(), "ran")}} {
		o := record.Options{Output: output(t), Command: command}
		cmd := recorder(t, o)
		wait := start(t, cmd)
		for {
			if found, _ := filepath.Glob(o.Output + "*"); len(found) > 0 {
				break
			}
		}
		cmd.Process.Signal(unix.SIGTERM)
		if r := wait(); r.status != 143 || !strings.Contains(r.stderr, "SIGTERM came before") {
			t.Errorf("status %d, the recorder says %q", r.status, r.stderr)
		}
		checkNoFiles(t, filepath.Dir(o.Output))
		if command != nil {
			checkNoFiles(t, filepath.Dir(command[1]))
		}
	}
}

// TestNohup: what is started by nohup goes on when the terminal is gone, the recorder and its command.
func TestNohup(t *testing.T) {
	o := record.Options{Output: output(t), Command: []string{"sh", "-c", "kill -HUP $PPID; kill -HUP $$; echo still here"}}
	cmd := recorder(t, o)
	r := run(t, exec.Command("nohup", cmd.Args...))
	if r.status != 0 || !strings.Contains(r.stdout, "still here") {
		t.Errorf("status %d, the command says %q, the recorder %q", r.status, r.stdout, r.stderr)
	}
	readWhole(t, o.Output)
}

// TestDurationLeavesCommand ends the recording before the command, which is not harmed.
func TestDurationLeavesCommand(t *testing.T) {
	tr, r := runWhole(t, record.Options{Duration: 300 * time.Millisecond, Command: []string{"sh", "-c", "sleep 2; echo done"}})
	if r.stdout != "done\n" || tr.Trailer().Reason != "the duration is over" || tr.Trailer().ExitStatus != nil {
		t.Errorf("the command says %q; the recording ended because %q, with status %v",
			r.stdout, tr.Trailer().Reason, tr.Trailer().ExitStatus)
	}
	for _, e := range tr.events {
		kind := event.Kind(e.Head().Kind)
		ofBefore := kind == event.KindClock || kind == event.KindRead
		if late := e.Head().Time > tr.Trailer().End; late && !ofBefore || !late && isExit(e, tr.Header().CommandPID) {
			t.Errorf("an event of kind %v at %d, the end is at %d", kind, e.Head().Time, tr.Trailer().End)
		}
	}
}

func isExit(e event.Event, pid uint32) bool {
	_, ok := e.(*event.Exit)
	return ok && e.Head().PID == pid
}

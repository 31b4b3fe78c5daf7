//go:build linux && kerneltest

package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// TestOutputExists refuses to overwrite, before anything is run, unless it is told to.
func TestOutputExists(t *testing.T) {
	o := record.Options{Output: output(t), Command: []string{"touch", filepath.Join(t.TempDir(), "ran")}}
	write(t, o.Output, "precious", 0o644)
	r := run(t, recorder(t, o))
	if text, _ := os.ReadFile(o.Output); r.status != 1 || string(text) != "precious" || !strings.Contains(r.stderr, "--force") {
		t.Errorf("status %d, the file holds %q, the recorder says %q; want 1, the file left alone, and advice to use --force",
			r.status, text, r.stderr)
	}
	if _, err := os.Stat(o.Command[1]); err == nil {
		t.Error("the command ran although there was nothing to record to")
	}
	o.Force = true
	runWhole(t, o)
	checkMode(t, o.Output)
}

func checkMode(t *testing.T, file string) {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%s has mode %v, want a regular file for its owner only: traces hold command lines", file, info.Mode())
	}
}

// TestOutputNotWritable names the place when the output can't be made.
func TestOutputNotWritable(t *testing.T) {
	for _, name := range []string{"/no/such/directory/t.bst", "/proc/t.bst", "/dev/null", t.TempDir()} {
		r := run(t, recorder(t, record.Options{Output: name, Force: true, Command: []string{"true"}}))
		if r.status != 1 || !strings.Contains(r.stderr, name) {
			t.Errorf("recording to %s: status %d, message %q", name, r.status, r.stderr)
		}
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is no longer what it was: %v %v", info, err)
	}
}

// TestOutputIsPrivate records with an umask of 0 in a directory where someone else has planted symbolic
// links: the trace goes to neither of their targets, and only its owner can read it, from the beginning.
func TestOutputIsPrivate(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere+"/victim", "precious", 0o644)
	for _, link := range []struct{ name, target string }{
		{dir + "/to-file", elsewhere + "/victim"}, {dir + "/to-nothing", elsewhere + "/new"},
	} {
		if err := os.Symlink(link.target, link.name); err != nil {
			t.Fatal(err)
		}
		partialMode := "stat -c %a:%F " + link.name + ".partial-*"
		o := record.Options{Output: link.name, Force: true, Command: []string{"sh", "-c", "sleep 0.1; " + partialMode}}
		cmd := recorder(t, o)
		old := unix.Umask(0)
		wait := start(t, cmd)
		unix.Umask(old)
		if r := wait(); r.status != 0 || !strings.HasPrefix(r.stdout, "600:regular") {
			t.Errorf("while it was written the file was %q, want mode 600 (status %d: %s)", r.stdout, r.status, r.stderr)
		}
		checkMode(t, link.name)
		readWhole(t, link.name)
	}
	if text, _ := os.ReadFile(elsewhere + "/victim"); string(text) != "precious" {
		t.Errorf("the target of the planted link now holds %d bytes", len(text))
	}
	if _, err := os.Lstat(elsewhere + "/new"); err == nil {
		t.Error("the target of the planted link was made")
	}
	// Without --force a link counts as existing.
	os.Symlink(elsewhere+"/new", dir+"/again")
	if r := run(t, recorder(t, record.Options{Output: dir + "/again", Command: []string{"true"}})); r.status != 1 {
		t.Errorf("status %d for a name that is taken by a link, want 1: %s", r.status, r.stderr)
	}
}

// TestOutputToPipe writes the trace to standard output while the command prints to it too.
func TestOutputToPipe(t *testing.T) {
	r := run(t, recorder(t, record.Options{Output: "-", Command: []string{"echo", "a greeting"}}))
	file := filepath.Join(t.TempDir(), "piped.bst")
	write(t, file, r.stdout, 0o600)
	readWhole(t, file)
	if r.status != 0 || !strings.Contains(r.stderr, "a greeting") {
		t.Errorf("status %d; standard error has %q, want what the command printed", r.status, r.stderr)
	}
}

// TestDiskFull records to a file system that is too small. The command goes on, the message names the
// file and the cause, and what was written can be read.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("small", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	o := record.Options{Output: dir + "/t.bst", SampleHz: 997, Command: []string{"sh", "-c",
		"perf bench sched pipe -l 100000 > /dev/null; echo the command ended; exit 3"}}
	r := run(t, recorder(t, o))
	if r.status != 3 || r.stdout != "the command ended\n" {
		t.Errorf("status %d, the command says %q; want its own 3 and its last words", r.status, r.stdout)
	}
	if !strings.Contains(r.stderr, "no space left on device") || !strings.Contains(r.stderr, o.Output) {
		t.Errorf("the recorder says %q, want the file and that no space is left on the device", r.stderr)
	}
	tr := readTrace(t, o.Output)
	t.Logf("%d switches and %d other events could be read; problems: %v", tr.switches, len(tr.events), tr.Problems())
	if len(of[*event.Task](tr, 0)) == 0 || tr.switches == 0 {
		t.Errorf("%d tasks and %d switches could be read", len(of[*event.Task](tr, 0)), tr.switches)
	}
	if len(tr.Problems()) > 1 {
		t.Errorf("more than the last chunk is damaged: %v", tr.Problems())
	}
}

// TestKilledRecorder kills a recorder: its unfinished file can be read to the last chunk, and the command
// isn't harmed.
func TestKilledRecorder(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	o := record.Options{Output: output(t), Command: []string{"sh", "-c", "while kill -0 $PPID; do sleep 0.05; done 2> /dev/null; echo alive > " + done}}
	cmd := recorder(t, o)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	wait := start(t, cmd)
	name := partial(t, o.Output)
	for readTrace(t, name).switches == 0 { // they are written after the first round
		time.Sleep(50 * time.Millisecond)
	}
	unix.Kill(cmd.Process.Pid, unix.SIGKILL)
	if r := wait(); r.status != 137 {
		t.Fatalf("status %d, want 137", r.status)
	}
	waitFor(t, done)
	if _, err := os.Lstat(o.Output); err == nil {
		t.Errorf("%s has its name, although it isn't complete", o.Output)
	}
	tr := readTrace(t, name)
	if tr.Trailer() != nil || len(tr.Problems()) > 0 {
		t.Errorf("trailer %v, problems %v; want no trailer, and whole chunks", tr.Trailer(), tr.Problems())
	}
	if execs := of[*event.Exec](tr, int(tr.Header().CommandPID)); len(execs) != 1 || tr.switches == 0 {
		t.Errorf("%d execs of the command and %d switches could be read", len(execs), tr.switches)
	}
	tl := tr.timeline(t)
	if tl.Complete() || process(t, tl, int(tr.Header().CommandPID)).Ended {
		t.Error("the model of the cut trace is complete, or tells that the command ended")
	}
}

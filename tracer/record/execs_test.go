//go:build linux && kerneltest

package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// execSteps runs each way to call exec in a process of its own.
var execSteps = newLoad("exec-steps", func(args []string) (steps []execStep) {
	for i, w := range execWays {
		dir := fmt.Sprintf("%s/%d", args[0], i)
		must(os.Mkdir(dir, 0o755))
		s := w.plan(dir)
		s.Way = w.way
		child := execChild.command(strconv.Itoa(i), dir, string(must1(json.Marshal(s))))
		child.Stderr = os.Stderr
		must(child.Run())
		s.PID = child.Process.Pid
		steps = append(steps, s)
	}
	return steps
})

var execChild load[bool]

func init() {
	execChild = newLoad("exec-child", func(args []string) bool {
		var s execStep
		must(json.Unmarshal([]byte(args[2]), &s))
		execWays[must1(strconv.Atoi(args[0]))].exec(args[1], s)
		return false
	})
}

// seenExec returns the exec and the arguments of the process's second exec: the first was this program.
func (tr *trace) seenExec(t *testing.T, s execStep) (*event.Exec, *event.Args) {
	t.Helper()
	execs, args := of[*event.Exec](tr, s.PID), of[*event.Args](tr, s.PID)
	if len(execs) != 2 || len(args) > 0 && len(args) != 2 {
		t.Errorf("%s: %d execs and %d argument lists, want 2", s.Way, len(execs), len(args))
		return nil, nil
	}
	if len(args) == 0 {
		return execs[1], nil
	}
	return execs[1], args[1]
}

// TestExecsOfAllKinds calls exec in each way that there is.
func TestExecsOfAllKinds(t *testing.T) {
	tr, steps := execSteps.record(t, record.Options{}, t.TempDir())
	for _, s := range steps {
		x, args := tr.seenExec(t, s)
		if x == nil {
			continue
		}
		checkExec(t, s, x, args)
		exe := ""
		if p := tr.paths[x.Exe]; p != nil {
			exe = p.Path()
		}
		if exe != string(s.Exe) {
			t.Errorf("%s: the program is %q, want %q", s.Way, exe, s.Exe)
		}
		if x.MountNS == 0 {
			t.Errorf("%s: no mount namespace", s.Way)
		}
	}
	t.Logf("%d ways to call exec compared", len(steps))
}

// TestExecsOfAllKindsWithoutBTF calls them where the file of a program can't be seen.
func TestExecsOfAllKindsWithoutBTF(t *testing.T) {
	tr, steps := execSteps.record(t, record.Options{NoBTF: true}, t.TempDir())
	for _, s := range steps {
		if x, args := tr.seenExec(t, s); x != nil {
			checkExec(t, s, x, args)
		}
	}
	t.Logf("%d ways to call exec compared", len(steps))
}

func checkExec(t *testing.T, s execStep, x *event.Exec, args *event.Args) {
	t.Helper()
	if !bytes.Equal(x.TailBytes(), s.Name) {
		t.Errorf("%s: the name is %q, want %q", s.Way, x.TailBytes(), s.Name)
	}
	if int(x.TID) != s.PID || (x.OldTID != x.TID) != s.OtherThread {
		t.Errorf("%s: thread %d was %d before, of process %d; by another thread: %v", s.Way, x.TID, x.OldTID, s.PID, s.OtherThread)
	}
	if args == nil {
		t.Errorf("%s: no arguments", s.Way)
		return
	}
	all := strings.Join(s.argv(), "\x00") + "\x00"
	if args.Total != uint64(len(all)) {
		t.Errorf("%s: %d bytes of arguments, want %d", s.Way, args.Total, len(all))
	}
	if want := all[:min(len(all), 4096)]; string(args.TailBytes()) != want {
		t.Errorf("%s: the arguments are %.300q, want %.300q", s.Way, args.TailBytes(), want)
	}
}

// TestNoArgs leaves all arguments out of the trace, those of processes that were there before included.
func TestNoArgs(t *testing.T) {
	const secret = "--password=correct-horse"
	before := exec.Command("sh", "-c", "read x", secret)
	stdin, err := before.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	wait := start(t, before)
	t.Cleanup(func() { stdin.Close(); wait() })
	for _, o := range []record.Options{{NoArgs: true}, {NoArgs: true, NoBTF: true}, {}} {
		o.Output = output(t)
		o.Command = []string{"sh", "-c", "/bin/true " + secret, secret}
		tr, _ := runWhole(t, o)
		found := strings.Contains(strings.Join(tr.Header().Command, " "), secret)
		for _, e := range tr.events {
			found = found || bytes.Contains(e.AppendTo(nil), []byte("correct-horse"))
		}
		if found == o.NoArgs {
			t.Errorf("no arguments wanted: %v; the secret is in the trace: %v", o.NoArgs, found)
		}
		if n := len(of[*event.Exec](tr, 0)); n < 2 {
			t.Errorf("%d execs in the trace, want 2 at least", n)
		}
	}
}

//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// hostileComms are names of tasks, which the kernel takes as bytes and cuts after 15.
var hostileComms = []string{"a b) R 1 (", "\xff\n\x1b[7m\"'\\", "sixteen bytes in", "…ünïcödé"}

// old gives its threads hostile names, writes the file and sleeps until it is killed.
var old = newLoad("old", func(args []string) bool {
	setComm(hostileComms[0])
	go func() {
		runtime.LockOSThread()
		setComm(hostileComms[1])
		must(os.WriteFile(args[0], []byte(fmt.Sprint(unix.Gettid())), 0o600))
		unix.Pause()
	}()
	unix.Pause()
	return true
})

func setComm(name string) {
	pointer := must1(unix.BytePtrFromString(name))
	must(unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(pointer)), 0, 0, 0))
	runtime.KeepAlive(pointer)
}

// startOld starts a process that lives until the test ends, and returns it with the id of its other thread.
func startOld(t *testing.T, argument string) (*exec.Cmd, int) {
	t.Helper()
	ready := t.TempDir() + "/ready"
	p := old.command(ready, argument)
	wait := start(t, p)
	t.Cleanup(func() { p.Process.Kill(); wait() })
	waitForSize(t, ready, 1)
	var tid int
	text, _ := os.ReadFile(ready)
	fmt.Sscan(string(text), &tid)
	return p, tid
}

// TestBeforeTheRecording looks at processes that were there before it, as the trace and /proc show them.
func TestBeforeTheRecording(t *testing.T) {
	argument := "an \xff argument"
	sleeping, tid := startOld(t, argument)
	stopped, _ := startOld(t, argument)
	stopped.Process.Signal(unix.SIGSTOP)
	ran, _ := schedstat(sleeping.Process.Pid)
	tr, _ := runWhole(t, record.Options{Command: []string{"sleep", "0.3"}})
	tl := tr.timeline(t)

	tasks := map[uint32][]*event.Task{}
	for _, e := range of[*event.Task](tr, sleeping.Process.Pid) {
		tasks[e.TID] = append(tasks[e.TID], e)
	}
	for want, comm := range map[uint32]string{uint32(sleeping.Process.Pid): hostileComms[0], uint32(tid): hostileComms[1]} {
		found := tasks[want]
		if len(found) != 2 || event.TaskPhase(found[0].Phase) != event.TaskAtStart || event.TaskPhase(found[1].Phase) != event.TaskAtEnd {
			t.Errorf("thread %d is told %d times, want once at the start and once at the end", want, len(found))
			continue
		}
		exe, argv := found[0].ExeAndArgv()
		if event.Comm(found[0].Comm) != comm || exe != self() || !slices.Contains(argv, argument) || found[0].State != 'S' {
			t.Errorf("thread %d: comm %q, program %q, arguments %q, state %c", want, event.Comm(found[0].Comm), exe, argv, found[0].State)
		}
		if int(found[0].Parent) != os.Getpid() {
			t.Errorf("thread %d: parent %d, want %d", want, found[0].Parent, os.Getpid())
		}
	}
	p := process(t, tl, sleeping.Process.Pid)
	if !p.Existed || p.Ended || p.Start >= tl.Start || p.Comms[0].Name != hostileComms[0] {
		t.Errorf("the model has it from %d to %d (existed: %v, ended: %v), named %v; the recording began at %d",
			p.Start, p.End, p.Existed, p.Ended, p.Comms, tl.Start)
	}
	if p.Counters == nil || p.Counters.CPU > ran {
		t.Errorf("counters %+v of a process that slept; before, it ran for %d ns", p.Counters, ran)
	}
	for _, state := range []struct {
		cmd  *exec.Cmd
		want timeline.State
	}{{sleeping, timeline.Sleeping}, {stopped, timeline.Stopped}} {
		for _, th := range process(t, tl, state.cmd.Process.Pid).Threads {
			if th.Times[state.want] != tl.Duration() {
				t.Errorf("thread %d was in state %v for %s of %s: %v", th.TID, state.want, ms(th.Times[state.want]), ms(tl.Duration()), th.Times)
			}
		}
	}
	checkKernelThreads(t, tl)
}

func checkKernelThreads(t *testing.T, tl *timeline.Timeline) {
	t.Helper()
	kernel, user := 0, 0
	for _, p := range tl.Processes {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
		switch {
		case err != nil || !p.Existed:
		case p.Kernel:
			t.Errorf("process %d is taken for a kernel thread, but runs %s", p.PID, exe)
		default:
			user++
		}
		if p.Kernel {
			kernel++
		}
	}
	if kernel < 10 || user < 2 {
		t.Errorf("%d kernel threads and %d processes that live on", kernel, user)
	}
}

// renamer changes the names of its threads.
var renamer = newLoad("renamer", func([]string) bool {
	for _, name := range hostileComms {
		setComm(name)
	}
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		// By another thread.
		must(os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Getpid()), []byte("from outside"), 0o600))
		close(done)
		time.Sleep(time.Millisecond)
	}()
	<-done
	return true
})

func TestRenames(t *testing.T) {
	for _, noBTF := range []bool{false, true} {
		tr, _ := renamer.record(t, record.Options{NoBTF: noBTF})
		pid := int(tr.Header().CommandPID)
		var got []string
		for _, e := range of[*event.Rename](tr, pid) {
			if int(e.Target) == pid {
				got = append(got, event.Comm(e.Comm))
			}
		}
		want := []string{comm(self())} // by exec
		for _, name := range append(hostileComms, "from outside") {
			want = append(want, comm(name))
		}
		if !slices.Equal(got, want) {
			t.Errorf("no BTF: %v; the names are %q, want %q", noBTF, got, want)
		}
	}
}

// comm is what the kernel makes of a name, or of a path at exec.
func comm(name string) string {
	if name[0] == '/' {
		name = filepath.Base(name)
	}
	return name[:min(len(name), 15)]
}

func waitForSize(t *testing.T, file string, size int64) {
	t.Helper()
	for range 1000 {
		if info, err := os.Stat(file); err == nil && info.Size() >= size {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s didn't grow to %d bytes within 10 s", file, size)
}

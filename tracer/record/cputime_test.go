//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/timeline"
)

const crowdTime = 2 * time.Second

// A member of the crowd, and what the kernel says of it, in nanoseconds.
type member struct {
	Name          string
	PID           int
	CPU           uint64 // from wait4's rusage, or from /proc/PID/schedstat for one that lives on
	First         waits  // of its first thread
	Before, After uint64 // its life lies within, on the boot clock; After is 0 if it lives on
}

// waits is what /proc/PID/schedstat tells of a thread.
type waits struct{ Ran, Delayed uint64 }

// crowdMember spends its time in the way that its first argument says.
var crowdMember = newLoad("crowd-member", func(args []string) bool {
	until := time.Now().Add(crowdTime)
	switch args[0] {
	case "hog":
		spin(until)
	case "threads": // five of them, all busy
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { runtime.LockOSThread(); spin(until) })
		}
		spin(until)
		all.Wait()
	case "sleeper":
		for time.Now().Before(until) {
			unix.Nanosleep(&unix.Timespec{Nsec: 10e6}, nil)
		}
	case "caller": // in the kernel most of the time
		for time.Now().Before(until) {
			unix.Getppid()
			unix.Stat("/", &unix.Stat_t{})
		}
	case "survivor": // lives on after the recording
		spin(time.Now().Add(crowdTime / 4))
		time.Sleep(time.Minute)
	}
	return true
})

func spin(until time.Time) {
	for time.Now().Before(until) {
	}
}

// crowd runs more than two CPUs can carry.
var crowd = newLoad("crowd", func([]string) (members []member) {
	names := []string{"hog", "hog", "hog", "threads", "sleeper", "sleeper", "caller", "survivor"}
	processes := make([]*exec.Cmd, len(names))
	for i, name := range names {
		before := system.BootTime()
		processes[i] = crowdMember.command(name)
		must(processes[i].Start())
		members = append(members, member{Name: name, PID: processes[i].Process.Pid, Before: before})
	}
	for i, p := range processes {
		m := &members[i]
		if m.Name == "survivor" {
			m.CPU, m.First = schedstat(m.PID)
			continue
		}
		// A zombie's first thread can still be asked.
		must(unix.Waitid(unix.P_PID, m.PID, nil, unix.WEXITED|unix.WNOWAIT, nil))
		_, m.First = schedstat(m.PID)
		must(p.Wait())
		m.After = system.BootTime()
		usage := p.ProcessState.SysUsage().(*syscall.Rusage)
		m.CPU = uint64(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return members
})

// schedstat returns the CPU time of all threads of a process, and what the first one waited.
func schedstat(pid int) (sum uint64, first waits) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	for _, thread := range must1(os.ReadDir(dir)) {
		var w waits
		must1(fmt.Sscan(string(must1(os.ReadFile(dir+"/"+thread.Name()+"/schedstat"))), &w.Ran, &w.Delayed))
		sum += w.Ran
		if thread.Name() == strconv.Itoa(pid) {
			first = w
		}
	}
	return sum, first
}

// stolen returns the time in which the hypervisor let this machine's CPUs wait. The kernel leaves it out
// of what it charges to a program; to the program it looks like running, and to the switches too.
func stolen() uint64 {
	text := string(must1(os.ReadFile("/proc/stat")))
	return must1(strconv.ParseUint(strings.Fields(text)[8], 10, 64)) * stolenStep
}

const stolenStep = 10e6 // nanoseconds; /proc/stat counts in steps

func TestTimesAreTheKernels(t *testing.T) { compareTimes(t, record.Options{}) }

func TestTimesAreTheKernelsWithoutBTF(t *testing.T) { compareTimes(t, record.Options{NoBTF: true}) }

// compareTimes compares the times of the crowd with the kernel's. When a task is preempted by one that wakes
// up, the kernel charges the newcomer from the moment of waking. On a machine that is busy with other things
// that can make up more than what is allowed, so there are several attempts.
func compareTimes(t *testing.T, o record.Options) {
	t.Helper()
	const attempts = 3
	for attempt := 1; ; attempt++ {
		off := timesOff(t, o)
		if len(off) == 0 || t.Failed() {
			return
		}
		for _, message := range off {
			if attempt < attempts {
				t.Logf("attempt %d: %s", attempt, message)
			} else {
				t.Error(message)
			}
		}
		if attempt == attempts {
			return
		}
	}
}

// timesOff records the crowd once and returns what is off by more than is allowed.
func timesOff(t *testing.T, o record.Options) (off []string) {
	t.Helper()
	steal := stolen()
	tr, members := crowd.record(t, o)
	if steal = stolen() - steal; steal > 0 {
		steal += stolenStep
	}
	for _, m := range members {
		if m.After == 0 {
			t.Cleanup(func() { unix.Kill(m.PID, unix.SIGKILL) })
		}
	}
	if n := tr.lost(event.ProbeSched, event.LostFull); n > 0 {
		t.Errorf("%d sched events were lost", n)
	}
	// Without BTF the kernel skips a waking that interrupts another program, and counts that.
	skipped := tr.lost(event.ProbeSched, event.LostSkipped)
	t.Logf("%d switches, %d wakings, %d skipped, %s stolen by the hypervisor", tr.switches, tr.wakings, skipped, ms(steal))
	tl := tr.timeline(t)
	for _, m := range members {
		p := process(t, tl, m.PID)
		checkLifetime(t, tl, p, m)
		ran, delayed := p.Times[timeline.Running], p.Threads[0].Times[timeline.Runnable]
		t.Logf("%-8s ran for %s (kernel: %s); its first thread was runnable for %s (kernel: %s)",
			m.Name, ms(ran), ms(m.CPU), ms(delayed), ms(m.First.Delayed))
		if allowed := max(m.CPU/50, 5e6) + steal; distance(ran, m.CPU) > allowed {
			off = append(off, fmt.Sprintf("%s %d: off by %s in its CPU time, %s are allowed", m.Name, m.PID, ms(distance(ran, m.CPU)), ms(allowed)))
		}
		// The kernel begins to count a little later: when the woken thread is in the queue.
		if allowed := max(m.First.Delayed/33, 10e6) + steal; skipped == 0 && distance(delayed, m.First.Delayed) > allowed {
			off = append(off, fmt.Sprintf("%s %d: off by %s in the time that its first thread was runnable, %s are allowed",
				m.Name, m.PID, ms(distance(delayed, m.First.Delayed)), ms(allowed)))
		}
	}
	return off
}

// checkLifetime checks that the state of each thread is known at any time, and that the states make up
// its life, which is what its parent saw.
func checkLifetime(t *testing.T, tl *timeline.Timeline, p *timeline.Process, m member) {
	t.Helper()
	for _, th := range p.Threads {
		if sum, life := th.Times.Sum(), th.End-th.Start; distance(sum, life) > 1e6 {
			t.Errorf("%s, thread %d: its states make up %s of a life of %s", m.Name, th.TID, ms(sum), ms(life))
		}
		if unknown := th.Times[timeline.Unknown]; unknown > 0 {
			t.Errorf("%s, thread %d: unknown for %s, though it was born in the recording", m.Name, th.TID, ms(unknown))
		}
	}
	after := m.After
	if after == 0 {
		after = tl.End
	}
	if p.Ended != (m.After != 0) {
		t.Errorf("%s %d: ended is %v, its parent knows better", m.Name, m.PID, p.Ended)
	}
	const late = 1e6 // it can be waited for before it has left its CPU for the last time
	if p.Start < m.Before || p.End > after+late {
		t.Errorf("%s %d lived from %d to %d, its parent saw it from %d to %d", m.Name, m.PID, p.Start, p.End, m.Before, after)
	}
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func ms(ns uint64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

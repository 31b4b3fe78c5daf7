//go:build linux && kerneltest

package record_test

import (
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
)

// procTasks is what /proc says of all threads, by thread and start: a number may come again.
func procTasks(t *testing.T) map[[2]uint64]*event.Task {
	t.Helper()
	cgroups, err := system.FindCgroups()
	if err != nil {
		t.Logf("cgroups are not compared: %v", err)
	} else if err := cgroups.Walk(func(*event.Cgroup) error { return nil }); err != nil {
		t.Fatal(err)
	}
	tasks, err := system.ReadTasks(cgroups, nil)
	if err != nil {
		t.Fatal(err)
	}
	byThread := map[[2]uint64]*event.Task{}
	for _, task := range tasks {
		byThread[threadKey(task)] = task
	}
	return byThread
}

// threadKey rounds down to what /proc tells of a start.
func threadKey(task *event.Task) [2]uint64 {
	return [2]uint64{uint64(task.TID), task.Start / uint64(10*time.Millisecond)}
}

// TestTasksAgreeWithProc: a recording that reads the tasks by a BPF iterator, and one that can't, tell of each thread
// what /proc says before and after.
func TestTasksAgreeWithProc(t *testing.T) {
	for name, o := range map[string]record.Options{"iterator": {}, "proc": {NoBTF: true}} {
		t.Run(name, func(t *testing.T) {
			o.Command = []string{"sleep", "0.1"}
			before := procTasks(t)
			tr, _ := runWhole(t, o)
			after := procTasks(t)
			seen := map[event.TaskPhase]int{}
			for _, e := range tr.events {
				task, ok := e.(*event.Task)
				if !ok {
					continue
				}
				a, b := before[threadKey(task)], after[threadKey(task)]
				if a == nil || b == nil {
					continue // of the recording itself, or it came or went meanwhile
				}
				seen[event.TaskPhase(task.Phase)]++
				checkTask(t, task, a, b)
			}
			// A machine has dozens of threads that stay, and each is there twice.
			for _, phase := range []event.TaskPhase{event.TaskAtStart, event.TaskAtEnd} {
				if stayed := common(before, after); seen[phase] != stayed || stayed < 10 {
					t.Errorf("%d threads in phase %v, %d were there all the time", seen[phase], phase, stayed)
				}
			}
			t.Logf("threads: %v", seen)
		})
	}
}

// checkTask compares a thread with what /proc said of it before and after.
func checkTask(t *testing.T, task, before, after *event.Task) {
	t.Helper()
	for _, c := range []struct {
		what      string
		a, got, b uint64
	}{
		{"CPU time", before.CPUTime, task.CPUTime, after.CPUTime},
		{"minor faults", before.MinorFaults, task.MinorFaults, after.MinorFaults},
		{"major faults", before.MajorFaults, task.MajorFaults, after.MajorFaults},
		{"bytes read", before.ReadBytes, task.ReadBytes, after.ReadBytes},
		{"bytes written", before.WrittenBytes, task.WrittenBytes, after.WrittenBytes},
	} {
		if storage := c.what == "bytes read" || c.what == "bytes written"; storage && before.HasStorage == 0 {
			continue // /proc doesn't show it of this one
		}
		if c.got < c.a || c.got > c.b {
			t.Errorf("thread %d: %s %d, /proc said %d before and %d after", task.TID, c.what, c.got, c.a, c.b)
		}
	}
	// What is the same before and after was the same between, for a thread that didn't run.
	if before.CPUTime != after.CPUTime {
		return
	}
	for what, v := range map[string][3]any{
		"pid":            {before.PID, task.PID, after.PID},
		"parent":         {before.Parent, task.Parent, after.Parent},
		"comm":           {event.Comm(before.Comm), event.Comm(task.Comm), event.Comm(after.Comm)},
		"cgroup":         {before.Cgroup, task.Cgroup, after.Cgroup},
		"state":          {string(before.State), string(task.State), string(after.State)},
		"kernel thread?": {before.KernelThread, task.KernelThread, after.KernelThread},
	} {
		if what == "comm" && before.KernelThread == 1 {
			continue // /proc appends what a worker did last
		}
		if v[0] == v[2] && v[1] != v[0] {
			t.Errorf("thread %d: %s %v, /proc says %v", task.TID, what, v[1], v[0])
		}
	}
}

func common(a, b map[[2]uint64]*event.Task) (n int) {
	for key := range a {
		if b[key] != nil {
			n++
		}
	}
	return n
}

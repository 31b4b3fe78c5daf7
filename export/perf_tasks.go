package export

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/export/perfdata"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// perfTask is a thread and what readers were told of it.
type perfTask struct {
	th        *timeline.Thread
	next      *perfTask // with the same id, later
	pid       uint32
	comm      string
	announced bool
	cpu       uint32 // where it ran last
}

// perfTasks finds the thread that has an id at a time. Times must not go back.
type perfTasks struct {
	now map[uint32]*perfTask
}

func newPerfTasks(tl *timeline.Timeline, comms map[uint32]string) *perfTasks {
	tasks := &perfTasks{now: make(map[uint32]*perfTask, len(tl.Threads))}
	last := make(map[uint32]*perfTask, len(tl.Threads))
	for _, th := range tl.Threads {
		t := &perfTask{th: th, pid: th.Process.PID, comm: th.Comm, cpu: notRecorded}
		if t.comm == "" {
			t.comm = th.Process.Comm()
		}
		if earlier := last[th.TID]; earlier != nil {
			earlier.next = t
		} else {
			tasks.now[th.TID] = t
			if comm := comms[th.TID]; th.Existed && comm != "" {
				t.comm = comm
			}
		}
		last[th.TID] = t
	}
	return tasks
}

// at returns the thread that has an id, or nil.
func (tasks *perfTasks) at(tid uint32, now uint64) *perfTask {
	t := tasks.now[tid]
	if t != nil && t.next != nil && t.next.th.Start <= now {
		for t.next != nil && t.next.th.Start <= now {
			t = t.next
		}
		tasks.now[tid] = t
	}
	return t
}

// beginTasks tells of the tasks, and what they had mapped, that were there before.
func (x *perfExport) beginTasks() {
	for _, th := range x.tl.Threads {
		if t := x.tasks.at(th.TID, 0); th.Existed && t.th == th && !t.announced {
			x.announce(t, 0, nil)
		}
	}
	for _, m := range x.begin.mappings {
		x.mapping(m, &perfdata.When{PID: m.PID, TID: m.PID})
	}
}

// task returns the thread that has an id, which readers know from then on.
func (x *perfExport) task(tid uint32, now uint64) *perfTask {
	t := x.tasks.at(tid, now)
	if t != nil && !t.announced {
		x.announce(t, now, nil)
	}
	return t
}

// announce tells of a thread and its name. Without a parent it is one that was there before, or whose fork
// was lost.
func (x *perfExport) announce(t *perfTask, now uint64, parent *perfTask) {
	t.announced = true
	if t.th.TID != t.pid { // threads share the mappings of the first, which must be known
		if first := x.tasks.at(t.pid, max(now, x.tl.Start)); first != nil && first.pid == t.pid && !first.announced {
			x.announce(first, now, nil)
		}
	}
	p := t.th.Process
	ids := &perfdata.Task{PID: t.pid, TID: t.th.TID, ParentPID: p.PPID, ParentTID: p.PPID}
	switch {
	case parent != nil:
		ids.ParentPID, ids.ParentTID = parent.pid, parent.th.TID
		t.comm = parent.comm
	case t.th.TID != t.pid:
		ids.ParentPID, ids.ParentTID = t.pid, t.pid
	}
	if t.comm == "" {
		t.comm = fmt.Sprintf(":%d", t.th.TID) // as perf shows what has no name
	}
	w := &perfdata.When{Time: now, PID: t.pid, TID: t.th.TID}
	x.r.Fork(w, ids, parent != nil)
	x.r.Comm(w, t.comm, false)
}

func (x *perfExport) onFork(e *event.Fork, w *perfdata.When, parent *perfTask) {
	child := x.tasks.at(e.ChildTID, w.Time)
	if child != nil && !child.announced {
		x.announce(child, w.Time, parent)
	}
}

func (x *perfExport) onRename(e *event.Rename, w *perfdata.When) {
	t := x.task(e.Target, w.Time)
	if t == nil {
		return
	}
	t.comm = event.Comm(e.Comm)
	w.PID, w.TID = t.pid, e.Target
	x.r.Comm(w, t.comm, t.th.TID == t.pid && isExec(t.th.Process, w.Time))
}

// isExec tells whether a process got its name at this time because it called exec. The kernel renames it,
// maps the new program, and then tells of the exec; so it is the last name before that.
func isExec(p *timeline.Process, renamed uint64) bool {
	exec := sort.Search(len(p.Execs), func(i int) bool { return p.Execs[i].Time >= renamed })
	name := sort.Search(len(p.Comms), func(i int) bool { return p.Comms[i].Time > renamed })
	return exec < len(p.Execs) && (name == len(p.Comms) || p.Comms[name].Time > p.Execs[exec].Time)
}

// exit tells that a thread has ended. Its id may be used again from now on.
func (x *perfExport) exit(t *perfTask, w *perfdata.When) {
	if t == nil {
		return
	}
	ids := &perfdata.Task{PID: t.pid, TID: t.th.TID, ParentPID: t.th.Process.PPID, ParentTID: t.th.Process.PPID}
	x.r.Exit(w, ids)
}

// mapping tells of a mapping, of a build id rather than of an inode where both could be told.
func (x *perfExport) mapping(m *event.Mapping, w *perfdata.When) {
	x.r.Mapping(w, &perfdata.Mapping{
		Start: m.Start, Length: m.Length, Offset: m.Offset,
		Major: m.Device >> 20, Minor: m.Device & (1<<20 - 1), Inode: m.Inode,
		BuildID:    m.BuildID[:min(int(m.BuildIDBytes), len(m.BuildID))],
		Protection: m.Protection, Flags: m.MapFlags, Path: string(m.TailBytes()),
	})
}

package export

import (
	"fmt"

	pb "github.com/bootscope/bootscope/export/perfettopb"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// perfettoSched writes what the kernel's tracer would have written: switches, wakings, births, deaths,
// renames and frequencies. Every version of Perfetto reads that, and makes thread states of it.
//
// A switch in a column doesn't say who left: that is who came with the CPU's switch before, and likewise
// for who wakes. Where that doesn't hold, at the beginning and where events were lost, an event goes out
// in the long form, which says it.
type perfettoSched struct {
	w     *perfettoWriter
	lives lifeTable
	tasks map[uint32]*perfettoTask
	cpus  []*perfettoCPU // by number; nil where none was seen
	// blocked: the recording tells I/O wait from other blocking.
	blocked bool

	event, body pb.Message
}

// perfettoTask is what is known of an id now.
type perfettoTask struct {
	comm string
	told bool  // an event told the name
	cpu  int32 // where it ran last, -1 if not known
}

type perfettoCPU struct {
	perfettoBundle
	known   bool
	current uint32 // who runs, if known
	idle    string // name of its idle task
}

// name returns the name of a task that runs there, or is woken from there.
func (c *perfettoCPU) name(tid uint32, t *perfettoTask) string {
	if tid == 0 {
		return c.idle
	}
	return t.comm
}

func newPerfettoSched(w *perfettoWriter, tl *timeline.Timeline) *perfettoSched {
	return &perfettoSched{
		w: w, lives: newLifeTable(tl), tasks: map[uint32]*perfettoTask{}, blocked: tl.Can.IOWait,
	}
}

// maxPerfettoCPUs is how many CPUs Perfetto reads. A trace with more it refuses as a whole.
const maxPerfettoCPUs = 1024

// cpu returns what is collected for a CPU.
func (s *perfettoSched) cpu(id int) *perfettoCPU {
	if id >= maxPerfettoCPUs {
		if s.w.err == nil {
			s.w.err = fmt.Errorf("the recording has a CPU %d, and Perfetto refuses traces with CPUs from number %d on: "+
				"export it to another format", id, maxPerfettoCPUs)
		}
		id = 0
	}
	for id >= len(s.cpus) {
		s.cpus = append(s.cpus, nil)
	}
	if s.cpus[id] == nil {
		s.cpus[id] = &perfettoCPU{
			perfettoBundle: perfettoBundle{cpu: id, numbers: map[string]uint64{}},
			idle:           fmt.Sprintf("swapper/%d", id),
		}
	}
	return s.cpus[id]
}

// added writes a CPU's bundle if it is full.
func (s *perfettoSched) added(c *perfettoCPU) {
	if c.count >= maxBundle {
		c.write(s.w)
	}
}

// task returns what is known of an id. Of one that no event has told yet the name is taken from later.
func (s *perfettoSched) task(tid uint32) *perfettoTask {
	t := s.tasks[tid]
	if t == nil {
		t = &perfettoTask{cpu: -1}
		if lives := s.lives[tid]; len(lives) > 0 {
			t.comm = lives[0].Comm
		}
		s.tasks[tid] = t
	}
	return t
}

func (s *perfettoSched) onSwitch(e *event.Switch) {
	c := s.cpu(int(e.CPU))
	next := s.task(e.Next)
	name := c.name(e.Next, next)
	state := perfettoState(event.TaskState(e.State))
	if c.known && c.current == e.TID && !c.ambiguous(e.Time) {
		c.addSwitch(e.Time, state, e.Next, name)
	} else {
		s.longSwitch(c, e, state, name)
	}
	next.cpu = int32(c.cpu)
	c.known, c.current = true, e.Next
	s.left(c, e)
	s.added(c)
}

func (s *perfettoSched) longSwitch(c *perfettoCPU, e *event.Switch, state int64, name string) {
	b := &s.body
	b.Reset()
	b.String(pb.SwitchPrevComm, c.name(e.TID, s.task(e.TID)))
	b.Int(pb.SwitchPrevPID, int64(int32(e.TID)))
	b.Int(pb.SwitchPrevPriority, unknownPriority)
	b.Int(pb.SwitchPrevState, state)
	b.String(pb.SwitchNextComm, name)
	b.Int(pb.SwitchNextPID, int64(int32(e.Next)))
	b.Int(pb.SwitchNextPriority, unknownPriority)
	s.emit(c, e.Time, e.TID, pb.FtraceSwitch)
}

// left adds what a column doesn't hold of who left: whether it waits for I/O, and that it is gone.
func (s *perfettoSched) left(c *perfettoCPU, e *event.Switch) {
	switch state := event.TaskState(e.State); {
	case state == event.StateDead:
		s.died(c, e)
	case s.blocked && (state == event.StateIoWait || state == event.StateBlocked):
		s.body.Reset()
		s.body.Int(pb.BlockedPID, int64(int32(e.TID)))
		s.body.Bool(pb.BlockedIOWait, state == event.StateIoWait)
		s.emit(c, e.Time, e.TID, pb.FtraceBlockedReason)
	}
}

// died ends the life of a thread. The first thread of a process, which stands for all of it, ends with
// the last one, as in the kernel.
func (s *perfettoSched) died(c *perfettoCPU, e *event.Switch) {
	th := s.lives.find(e.TID, e.Time)
	if th == nil || !th.Exited {
		return
	}
	p := th.Process
	if th.TID != p.PID {
		s.free(c, e, th.TID)
	}
	if p.Ended && p.End == th.End {
		s.free(c, e, p.PID)
	}
}

func (s *perfettoSched) free(c *perfettoCPU, e *event.Switch, tid uint32) {
	s.body.Reset()
	s.body.String(pb.FreeComm, s.task(tid).comm)
	s.body.Int(pb.FreePID, int64(int32(tid)))
	s.emit(c, e.Time, e.TID, pb.FtraceProcessFree)
}

func (s *perfettoSched) onWaking(e *event.Waking) {
	c := s.cpu(int(e.CPU))
	t := s.task(e.Target)
	name := c.name(e.Target, t)
	if c.known && c.current == e.TID {
		c.addWaking(e.Time, e.Target, t.cpu, name, interruptFlags(event.Waker(e.By)))
	} else {
		s.body.Reset()
		s.body.String(pb.WakingComm, name)
		s.body.Int(pb.WakingPID, int64(int32(e.Target)))
		s.body.Int(pb.WakingPriority, unknownPriority)
		s.body.Int(pb.WakingCPU, int64(t.cpu))
		s.emit(c, e.Time, e.TID, pb.FtraceWaking)
	}
	s.added(c)
}

// interruptFlags returns TRACE_FLAG_HARDIRQ or TRACE_FLAG_SOFTIRQ of include/linux/trace_events.h. Without
// either a reader takes the current task for the waker.
func interruptFlags(by event.Waker) uint64 {
	switch by {
	case event.WakerIrq, event.WakerTimer:
		return 0x08
	case event.WakerSoftirq, event.WakerTimerWheel:
		return 0x10
	default:
		return 0
	}
}

// inherit gives a new task its parent's name.
func (s *perfettoSched) inherit(e *event.Fork) {
	parent := s.task(e.TID)
	s.tasks[e.ChildTID] = &perfettoTask{comm: parent.comm, told: parent.told, cpu: -1}
}

// introduce takes the name that /proc had for a task, if nothing else told it.
func (s *perfettoSched) introduce(e *event.Task) {
	if t, comm := s.task(e.TID), event.Comm(e.Comm); !t.told && comm != "" {
		t.comm, t.told = comm, true
	}
}

// rename gives a task its new name.
func (s *perfettoSched) rename(e *event.Rename) *perfettoTask {
	t := s.task(e.Target)
	t.comm, t.told = event.Comm(e.Comm), true
	return t
}

// cloneThread is CLONE_THREAD of clone(2).
const cloneThread = 0x10000

// onFork tells of a new thread. Whether it is one of its parent's process or the first of a new one was
// found out while the timeline was built, where the event doesn't say.
func (s *perfettoSched) onFork(e *event.Fork) {
	th := s.lives.find(e.ChildTID, e.Time)
	if th == nil {
		return
	}
	c := s.cpu(int(e.CPU))
	s.body.Reset()
	s.body.Int(pb.NewTaskPID, int64(int32(e.ChildTID)))
	s.body.String(pb.NewTaskComm, s.task(e.ChildTID).comm)
	if th.TID != th.Process.PID {
		s.body.Uint(pb.NewTaskFlags, cloneThread)
	}
	s.emit(c, e.Time, e.TID, pb.FtraceNewTask)
	s.added(c)
}

func (s *perfettoSched) onRename(e *event.Rename) {
	c := s.cpu(int(e.CPU))
	s.body.Reset()
	s.body.Int(pb.RenamePID, int64(int32(e.Target)))
	s.body.String(pb.RenameOldComm, s.task(e.Target).comm)
	s.body.String(pb.RenameNewComm, s.rename(e).comm)
	s.emit(c, e.Time, e.TID, pb.FtraceRename)
	s.added(c)
}

// lose marks where switches and wakings of a CPU are missing.
func (s *perfettoSched) lose(e *event.Lost) {
	c := s.cpu(int(e.CPU))
	c.write(s.w)
	c.lost, c.known = true, false
}

// frequency tells the frequency that a CPU has from now on.
func (s *perfettoSched) frequency(cpu int, at uint64, khz uint32) {
	c := s.cpu(cpu)
	s.body.Reset()
	s.body.Uint(pb.FrequencyKHz, uint64(khz))
	s.body.Uint(pb.FrequencyCPU, uint64(cpu))
	s.emit(c, at, 0, pb.FtraceCPUFrequency)
	s.added(c)
}

// emit adds an event in the long form. Readers are quickest when its fields come in this order.
func (s *perfettoSched) emit(c *perfettoCPU, at uint64, current uint32, field pb.Field) {
	s.event.Reset()
	s.event.Uint(pb.FtraceTimestamp, at)
	s.event.Uint(pb.FtracePID, uint64(current))
	s.event.Message(field, &s.body)
	c.addEvent(&s.event)
}

// finish writes what is left.
func (s *perfettoSched) finish() {
	for _, c := range s.cpus {
		if c != nil {
			c.write(s.w)
		}
	}
}

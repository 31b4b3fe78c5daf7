package timeline

import "github.com/bootscope/bootscope/tracer/event"

// caller returns the thread that an event's header names, with its process; nil for the idle task.
// The event comes from a CPU, so it also tells what runs there if that is not known, or has a new id.
func (b *builder) caller(h *event.Header) *Thread {
	if h.TID == 0 {
		return nil
	}
	if b.tl.Can.Sched {
		c := b.cpu(int(h.CPU))
		if !c.known && !c.fresh {
			b.current(c, h.TID)
		}
		if c.current != nil && c.current.TID != h.TID {
			b.renamed(c.current, h.TID)
		}
	}
	return b.named(h.TID, h.PID)
}

// named returns the thread with this id, as one of the process with this id.
func (b *builder) named(tid, pid uint32) *Thread {
	th := b.thread(tid)
	if th.Process != nil && pid != 0 && th.Process.PID != pid {
		b.vanish(th) // its id is in use again
		th = b.thread(tid)
	}
	if th.Process == nil && pid != 0 {
		b.join(th, pid)
	}
	return th
}

// join makes a thread part of the process with this id, which is new if it is not known.
func (b *builder) join(th *Thread, pid uint32) {
	p := b.pids[pid]
	if p == nil || p.Ended {
		p = b.newProcess(pid, th)
		if parent := th.forkedBy; parent != nil {
			p.setParent(parent)
		}
		p.CgroupID = th.cgroup
	}
	b.attach(th, p)
}

func (b *builder) newProcess(pid uint32, first *Thread) *Process {
	p := &Process{
		PID: pid, Existed: first.Existed, Start: first.Start,
		StartKnown: first.baseKnown && !first.Existed,
		Recorder:   pid == b.tl.Header.RecorderPID && pid != 0,
		Command:    pid == b.tl.Header.CommandPID && pid != 0,
	}
	if earlier := b.pids[pid]; earlier != nil {
		p.Incarnation = earlier.Incarnation + 1
		p.Recorder, p.Command = false, false
	}
	b.pids[pid] = p
	b.tl.Processes = append(b.tl.Processes, p)
	return p
}

func (p *Process) setParent(parent *Process) {
	p.Parent, p.PPID = parent, parent.PID
	p.Command = p.Command || parent.Command
	p.Exe, p.Argv, p.ArgvCut = parent.Exe, parent.Argv, parent.ArgvCut
	p.memory, p.attached = parent.memory, parent.attached
}

func (b *builder) attach(th *Thread, p *Process) {
	th.Process = p
	p.Threads = append(p.Threads, th)
	if !th.Exited {
		p.live++
	} else if th.Status != nil {
		p.Status = th.Status
	}
	if th.Comm != "" && (th.TID == p.PID || len(p.Comms) == 0) {
		p.Comms = append(p.Comms, Named{Time: th.Start, Name: th.Comm})
	}
}

func (b *builder) onFork(parent *Thread, e *event.Fork) {
	if e.ChildTID == 0 {
		return
	}
	if old := b.tids.get(e.ChildTID); old != nil && !old.ended {
		b.vanish(old)
	}
	th := b.newThread(e.ChildTID, b.now)
	th.Comm, th.forkedBy, th.cgroup, th.baseKnown = parent.Comm, parent.Process, e.Cgroup, true
	th.base.StorageKnown = true
	if th.cgroup == 0 && parent.Process != nil {
		th.cgroup = parent.Process.CgroupID
	}
	if e.Time < b.tl.Start { // the switches were not yet recorded
		th.Existed, th.fresh = true, true
	} else if b.tl.Can.Sched {
		th.state, th.cause, th.waker = Runnable, Forked, parent.TID
	}
	switch e.ChildPID {
	case 0: // the probe can't tell whether it is a process; later events do
	case e.ChildTID:
		if p := b.pids[e.ChildPID]; p != nil && !p.Ended {
			b.abandon(p)
		}
		b.join(th, e.ChildPID)
	default:
		b.join(th, e.ChildPID)
	}
}

// abandon ends a process whose id is taken by another.
func (b *builder) abandon(p *Process) {
	for _, th := range p.Threads {
		if !th.ended {
			b.vanish(th)
		}
	}
	p.Ended = true
}

// takeOver makes the thread that called exec the first of its process, if it was another.
func (b *builder) takeOver(e *event.Exec) {
	if e.OldTID == 0 || e.OldTID == e.TID {
		return
	}
	old := b.tids.get(e.OldTID)
	if old != nil && !old.ended && !old.Exited && old.Process != nil && old.Process.PID == e.PID {
		b.continueAs(old, e.TID)
	}
}

func (b *builder) onExec(th *Thread, e *event.Exec) {
	p := th.Process
	if p == nil {
		return
	}
	x := &Exec{Time: b.now, Name: string(e.TailBytes()), Exe: b.files[e.Exe], MountNS: e.MountNS}
	p.Execs = append(p.Execs, x)
	p.Exe, p.Argv, p.ArgvCut = x.Name, nil, false
	if x.Exe != nil && x.Exe.Path != "" {
		p.Exe = x.Exe.Path
	}
	if e.Cgroup != 0 {
		p.CgroupID = e.Cgroup
	}
}

// onArgs takes the arguments of the exec just before.
func onArgs(p *Process, e *event.Args) {
	if p == nil {
		return
	}
	p.Argv, p.ArgvCut = e.Argv()
	if n := len(p.Execs); n > 0 {
		p.Execs[n-1].Argv, p.Execs[n-1].ArgvCut = p.Argv, p.ArgvCut
	}
}

func (b *builder) onExit(th *Thread, e *event.Exit) {
	if e.Flags&event.ExitCounters != 0 {
		th.last, th.lastKnown = countersAtExit(e), true
		status := e.Status
		th.Status = &status
	}
	if p := th.Process; p != nil {
		p.Status = th.Status // that of the last one is the process's
	}
	b.exited(th, b.now) // it ends with the switch that takes it off its CPU
}

func countersAtExit(e *event.Exit) Counters {
	return Counters{
		CPU: e.CPUTime, MinorFaults: e.MinorFaults, MajorFaults: e.MajorFaults,
		StorageKnown: e.Flags&event.ExitStorage != 0, StorageRead: e.ReadBytes, StorageWritten: e.WrittenBytes,
	}
}

func (b *builder) onRename(e *event.Rename) {
	if e.Target == 0 {
		return
	}
	th := b.thread(e.Target)
	th.Comm = event.Comm(e.Comm)
	if p := th.Process; p != nil && th.TID == p.PID {
		p.Comms = append(p.Comms, Named{Time: b.now, Name: th.Comm})
	}
}

func (b *builder) onCgroupAttach(e *event.CgroupAttach) {
	th := b.tids.get(e.Target)
	switch {
	case th == nil || th.ended:
	case e.Hierarchy != 0:
		if p := th.Process; p != nil && th.TID == p.PID {
			p.attached, p.memory = p.attached.with(groupKey{e.Hierarchy, e.Cgroup}), groupKey{}
		}
	case th.Process == nil:
		th.cgroup = e.Cgroup
	case th.TID == th.Process.PID: // a unit is where the process's first thread is
		th.Process.CgroupID = e.Cgroup
	}
}

// onTask takes in what /proc told of a thread, at the start or at the end of the recording.
func (b *builder) onTask(e *event.Task) {
	if e.TID == 0 || e.PID == 0 {
		return
	}
	th := b.tids.get(e.TID)
	if th != nil && th.ended && e.Start <= th.End {
		return // it ended between the reading of /proc and the stamp
	}
	if th == nil && e.Start < b.tl.Start {
		b.oldThread(e.TID)
	} else if th == nil {
		b.newThread(e.TID, min(e.Start, b.now)) // its fork was not seen
	}
	th = b.named(e.TID, e.PID)
	counters := Counters{
		CPU: e.CPUTime, MinorFaults: e.MinorFaults, MajorFaults: e.MajorFaults,
		StorageKnown: e.HasStorage != 0, StorageRead: e.ReadBytes, StorageWritten: e.WrittenBytes,
	}
	switch event.TaskPhase(e.Phase) {
	case event.TaskAtStart:
		if th.Existed || !th.baseKnown && e.Start < b.tl.Start {
			th.base, th.baseKnown = counters, true
		}
	case event.TaskAtEnd:
		if !th.Exited {
			th.last, th.lastKnown = counters, true
		}
	}
	b.describe(th, e)
	if th.fresh && th.state == Unknown && b.tl.Can.Sched && len(b.gaps) == 0 {
		b.stateFromProc(th, e.State)
	}
}

// describe fills in what no event has told yet.
func (b *builder) describe(th *Thread, e *event.Task) {
	p := th.Process
	p.Kernel = p.Kernel || e.KernelThread != 0
	if p.Parent == nil && p.PPID == 0 {
		p.PPID = e.Parent
	}
	if th.TID == p.PID && !p.StartKnown {
		p.Start, p.StartKnown, p.Existed = e.Start, true, e.Start < b.tl.Start
	}
	if comm := event.Comm(e.Comm); th.Comm == "" && comm != "" {
		th.Comm = comm
		if th.TID == p.PID || len(p.Comms) == 0 {
			p.Comms = append(p.Comms, Named{Time: b.now, Name: comm})
		}
	}
	if p.CgroupID == 0 {
		p.CgroupID = e.Cgroup
	}
	if exe, argv := e.ExeAndArgv(); p.Exe == "" && len(p.Execs) == 0 {
		p.Exe, p.Argv = exe, argv
	}
}

// stateFromProc sets the state that a thread has had since the recording began, as no event has come
// from it or about it. Running and runnable are one letter: the first event will tell.
func (b *builder) stateFromProc(th *Thread, letter byte) {
	switch letter {
	case 'S', 'I':
		th.state = Sleeping
	case 'D':
		th.state = Blocked
	case 'T', 't', 'P':
		th.state = Stopped
	case 'Z', 'X':
		b.end(th, th.Start) // it waits for its parent only
	default:
		return
	}
	th.fresh = false
}

package timeline

import "github.com/bootscope/bootscope/tracer/event"

const noSyscall = event.NoSyscall

// cpuState is a CPU while the timeline is built.
type cpuState struct {
	*CPU
	current *Thread // nil: idle
	known   bool    // current is what runs
	fresh   bool    // no event has come from it yet
	since   uint64  // the time before is accounted for
	seen    uint64  // last event
	offline bool    // it is not there; nothing is known
	left    uint64  // when it went offline

	khz      uint32
	khzKnown bool
	khzTold  bool // by an event
	khzSince uint64
}

func (b *builder) cpu(id int) *cpuState {
	for id >= len(b.cpus) {
		b.cpus = append(b.cpus, nil)
	}
	if b.cpus[id] == nil {
		c := &cpuState{CPU: &CPU{ID: id}, fresh: true, since: b.tl.Start, seen: b.tl.Start, khzSince: b.tl.Start, left: b.tl.Start}
		b.beginOffline(c)
		b.cpus[id] = c
	}
	return b.cpus[id]
}

// account adds the time since the last call to what the CPU did meanwhile.
func (c *cpuState) account(now uint64) {
	switch ns := now - c.since; {
	case c.offline:
		c.Offline += ns
	case !c.known:
		c.Unknown += ns
	case c.current == nil:
		c.Idle += ns
	default:
		c.Busy += ns
	}
	c.since = now
}

func (b *builder) onSwitch(e *event.Switch) {
	c := b.cpu(int(e.CPU))
	prev := b.current(c, e.TID)
	c.seen, b.switched = b.now, b.now
	c.account(b.now)
	if prev != nil {
		b.leave(prev, e)
	}
	c.current = nil
	if e.Next != 0 {
		th := b.thread(e.Next)
		b.enter(c, th)
		if e.TID == 0 {
			th.IdleExits++
		}
	}
}

// leave takes a running thread off its CPU.
func (b *builder) leave(th *Thread, e *event.Switch) {
	b.closeAs(th, Running, b.now)
	th.Switches++
	if s := event.TaskState(e.State); s != event.StatePreempted && s != event.StateYielded {
		th.Voluntary++
	}
	if !th.woken {
		th.waker = 0
	}
	th.syscall, th.compat = e.Syscall, e.Compat != 0
	switch event.TaskState(e.State) {
	case event.StatePreempted:
		th.state, th.cause = Runnable, Preempted
	case event.StateYielded:
		th.state, th.cause = Runnable, Yielded
	case event.StateBlocked:
		th.state = Blocked
	case event.StateIoWait:
		th.state = IOWait
	case event.StateStopped:
		th.state = Stopped
	case event.StateDead:
		b.end(th, b.now)
	case event.StateSleeping, event.StateIdle:
		th.state = Sleeping
	default: // of a later version
		th.state = Unknown
	}
}

// enter puts a thread on a CPU and gives what it did until now its name.
func (b *builder) enter(c *cpuState, th *Thread) {
	switch th.state {
	case Running: // somewhere else: that it left there was missed
		if th.cpu >= 0 && th.cpu != c.ID {
			b.forget(b.cpu(th.cpu))
		}
		b.doubt(th)
	case Runnable:
		b.closeAs(th, Runnable, b.now)
	case Unknown:
		if th.fresh && len(b.gaps) == 0 {
			// No waking came before, so it was woken before the recording began.
			th.cause = NoCause
			b.closeAs(th, Runnable, b.now)
		} else {
			b.closeAs(th, Unknown, b.now)
		}
	case IOWait, Blocked, Sleeping, Stopped:
		b.wakeUnseen(th)
	}
	th.state, th.cpu, th.fresh, th.woken = Running, c.ID, false, false
	c.current = th
}

// wakeUnseen ends the sleep of a thread that runs although no waking came after it fell asleep.
func (b *builder) wakeUnseen(th *Thread) {
	switch {
	case th.woken:
		// The waking came just before the switch that put it to sleep, so it never slept.
		th.cause = Woken
		b.wokenUp(th, th.early)
		b.closeAs(th, Runnable, b.now)
	case b.lossSince(th.since):
		b.doubt(th)
	default:
		b.closeAs(th, th.state, b.now)
	}
}

func (b *builder) onWaking(e *event.Waking) {
	c := b.cpu(int(e.CPU))
	if !c.known {
		b.current(c, e.TID)
	}
	c.seen, b.switched = b.now, b.now
	if e.Target == 0 {
		return
	}
	if th := b.tids.get(e.Target); th != nil && th.ended {
		return
	}
	th := b.thread(e.Target)
	switch th.state {
	case Running:
		// On its own CPU it is woken before it has gone to sleep, and doesn't. From another CPU it may
		// be on its way to the switch already.
		if th.cpu != int(e.CPU) {
			th.woken, th.waker, th.early = true, e.TID, b.fromWaking(e)
		}
		return
	case Runnable:
		return
	case Unknown:
		ran := th.MaybeRan
		b.closeAs(th, Unknown, b.now)
		if th.fresh && len(b.gaps) == 0 {
			th.MaybeRan = ran // only who sleeps is woken; it is in what that is not known
		}
	case IOWait, Blocked, Sleeping, Stopped:
		th.waker = e.TID
		b.closeAs(th, th.state, b.now)
	}
	th.waker = e.TID
	b.wokenUp(th, b.fromWaking(e))
	th.state, th.cause = Runnable, Woken
	th.fresh, th.woken = false, false
}

// current makes the thread with this id (0: none) the one that runs on a CPU, as an event from there
// says. Nearly always it is already.
func (b *builder) current(c *cpuState, tid uint32) *Thread {
	if c.known {
		if c.current == nil && tid == 0 {
			return nil
		}
		if c.current != nil && c.current.TID == tid {
			return c.current
		}
		if heir := b.renamed(c.current, tid); heir != nil {
			return heir
		}
		if b.wasAway(c) {
			b.goOffline(c, b.now)
		} else {
			b.forget(c)
		}
	}
	if c.offline {
		c.comeOnline(b.now)
	}
	wasFresh := c.fresh && len(b.gaps) == 0
	if !wasFresh {
		c.account(b.now)
	}
	c.known, c.fresh = true, false
	c.current = nil
	if tid == 0 {
		return nil
	}
	th := b.thread(tid)
	if wasFresh && th.fresh && th.state == Unknown {
		// Nothing has happened on this CPU before: it has run there from the beginning.
		th.state, th.fresh = Running, false
	} else if th.state != Running || th.cpu != c.ID {
		if th.state == Running && th.cpu >= 0 {
			b.forget(b.cpu(th.cpu))
		}
		b.doubt(th)
		th.state = Running
	}
	th.cpu, c.current = c.ID, th
	return th
}

// forget makes what a CPU does unknown from now on, and what the thread that ran on it does.
func (b *builder) forget(c *cpuState) {
	c.account(b.now)
	if th := c.current; th != nil && c.known && !th.ended {
		b.doubt(th)
	}
	c.known, c.current, c.fresh = false, nil, false
}

// renamed returns what a thread continues as if it has taken the id of its process's first thread, which
// has ended: it is in the middle of an exec, and this is the first that is seen of it under its new id.
func (b *builder) renamed(th *Thread, tid uint32) *Thread {
	if th == nil || th.Exited || th.Process == nil || tid != th.Process.PID || th.TID == tid {
		return nil
	}
	if leader := b.tids.get(tid); leader == nil || !leader.Exited || leader.Process != th.Process {
		return nil
	}
	return b.continueAs(th, tid)
}

// onLost notes a loss. When switches were lost, the time of the event is that of the last one before.
func (b *builder) onLost(e *event.Lost) {
	b.lost[Loss{Probe: event.Probe(e.Probe).String(), Reason: event.LostReason(e.Reason).String()}] += e.Count
	switch event.Probe(e.Probe) {
	case event.ProbeSched:
		b.gaps = append(b.gaps, b.now)
		b.lose(b.cpu(int(e.CPU)))
	case event.ProbeProcess:
		b.forksOK = false
	default:
	}
}

// lose makes a CPU's doings unknown from now on: until here what was seen is certain.
func (b *builder) lose(c *cpuState) {
	if th := c.current; th != nil && c.known {
		b.closeAs(th, Running, b.now)
	}
	b.forget(c)
}

// finishCPUs accounts for the time up to the end. Where the recording was cut off, what a CPU did after
// its last event is not known.
func (b *builder) finishCPUs() {
	for _, c := range b.cpus {
		if c == nil {
			continue
		}
		if b.tl.Trailer == nil && c.known {
			c.account(c.seen)
			if th := c.current; th != nil && !th.ended {
				b.closeAs(th, Running, c.seen)
				th.state = Unknown
			}
			c.known = false
		}
		c.account(b.now)
		if c.offline {
			c.comeOnline(b.now)
		}
		b.tl.CPUs = append(b.tl.CPUs, c.CPU)
	}
}

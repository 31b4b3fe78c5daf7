package timeline

import "sort"

// liveThread is what is known of a thread while the timeline is built.
type liveThread struct {
	state   State
	since   uint64 // begin of the state
	cpu     int    // where it runs or ran last, -1 if not known
	syscall uint16
	compat  bool
	cause   Cause
	waker   uint32
	// fresh: nothing has told its state since the recording began, so the first event that does tells
	// what it was from the beginning.
	fresh bool
	// woken: another CPU woke it before the switch that puts it to sleep was stamped.
	woken bool
	early cameFrom // what that waking came from
	ended bool     // off its CPU for ever

	base, last           Counters
	baseKnown, lastKnown bool
	syncing              bool // it has waited in a sync that has not returned
	syncSince            uint64
	reclaiming           bool // it has to free memory
	reclaimSince         uint64
	faultTime            uint64 // waited in the page fault that it is in, if it is
	faults               matcher
	forkedBy             *Process // until its process is known
	cgroup               uint64   // likewise
}

// TimesAt returns the time in each state up to a moment that is not before the last event: for sinks,
// while the timeline is built.
func (th *Thread) TimesAt(now uint64) Times {
	t := th.Times
	if !th.ended && now > th.since {
		t[th.state] += now - th.since
	}
	return t
}

// newThread makes the next thread with this id. It begins in an unknown state.
func (b *builder) newThread(tid uint32, start uint64) *Thread {
	th := &Thread{Index: len(b.tl.Threads), TID: tid, Start: start}
	th.since, th.cpu, th.syscall = start, -1, noSyscall
	b.tl.Threads = append(b.tl.Threads, th)
	b.tids.set(tid, th)
	return th
}

// thread returns the thread that has this id now. One that no event has announced was there before the
// recording, if announcements (forks) could be relied on; else it begins where it is first seen.
func (b *builder) thread(tid uint32) *Thread {
	earlier := b.tids.get(tid)
	if earlier != nil && !earlier.ended {
		return earlier
	}
	if earlier == nil && b.forksOK && len(b.src.Problems()) == 0 {
		return b.oldThread(tid)
	}
	return b.newThread(tid, b.now)
}

// oldThread makes a thread that was there before the recording, and of which nothing was seen until now.
func (b *builder) oldThread(tid uint32) *Thread {
	th := b.newThread(tid, b.tl.Start)
	th.Existed, th.fresh = true, true
	return th
}

// closeAs ends a thread's present state at a moment, under the name that it has deserved by now, and
// begins another at that moment.
func (b *builder) closeAs(th *Thread, s State, at uint64) {
	if at <= th.since {
		return
	}
	th.Times[s] += at - th.since
	if s == Unknown {
		th.MaybeRan += at - th.since
	}
	if s == Sleeping || s == Blocked || s == IOWait {
		th.addSleep(s, at-th.since)
		b.noteWait(th, s, th.since, at)
	}
	b.tl.Activity.add(th, s, th.since, at)
	if len(b.intervalSinks) > 0 {
		b.emit(th, s, at)
	}
	th.since = at
}

// emit gives a state to the sinks. It sets each field in place, since it is called for every state: putting
// an Interval together elsewhere and copying it was a twentieth of a report's time.
func (b *builder) emit(th *Thread, s State, at uint64) {
	iv := &b.interval
	iv.Thread, iv.State, iv.Start, iv.End, iv.CPU = th, s, th.since, at, th.cpu
	iv.Syscall, iv.Compat, iv.Class, iv.Reclaim = noSyscall, false, OtherCall, false
	iv.Cause, iv.Waker = NoCause, 0
	switch s {
	case Runnable:
		iv.Cause, iv.Waker = th.cause, th.waker
	case Sleeping, Blocked, IOWait:
		iv.Syscall, iv.Compat, iv.Waker = th.syscall, th.compat, th.waker
		iv.Class, iv.Reclaim = b.calls.of(th.syscall, th.compat), th.reclaiming
	case Running, Unknown, Stopped:
	}
	for _, sink := range b.intervalSinks {
		sink.Interval(iv)
	}
}

func (th *Thread) addSleep(s State, ns uint64) {
	for i := range th.Sleeps {
		if sl := &th.Sleeps[i]; sl.Syscall == th.syscall && sl.Compat == th.compat && sl.State == s && sl.Reclaim == th.reclaiming {
			sl.Time += ns
			sl.Count++
			return
		}
	}
	th.Sleeps = append(th.Sleeps, Sleep{Syscall: th.syscall, Compat: th.compat, State: s, Reclaim: th.reclaiming, Time: ns, Count: 1})
}

// doubt ends a thread's present state when an event contradicts it: something was missed. The state held
// until the first loss since it began; what came after, or all of it, is unknown.
func (b *builder) doubt(th *Thread) {
	i := sort.Search(len(b.gaps), func(i int) bool { return b.gaps[i] >= th.since })
	if i < len(b.gaps) {
		b.closeAs(th, th.state, b.gaps[i])
	}
	b.closeAs(th, Unknown, b.now)
	th.state, th.fresh, th.woken = Unknown, false, false
}

// lossSince tells whether sched events were lost after a moment.
func (b *builder) lossSince(t uint64) bool {
	return len(b.gaps) > 0 && b.gaps[len(b.gaps)-1] >= t
}

// end is the end of a thread's life.
func (b *builder) end(th *Thread, at uint64) {
	b.closeAs(th, th.state, at)
	th.ended, th.End = true, th.since
	if th.ContinuedAs == nil {
		b.exited(th, at)
	}
}

// exited notes that a thread is no longer part of its process.
func (b *builder) exited(th *Thread, at uint64) {
	if th.Exited {
		return
	}
	th.Exited, th.ExitTime = true, at
	if p := th.Process; p != nil {
		p.live--
		p.Ended = p.live == 0
	}
}

// vanish ends a thread whose id is taken by another: its own end was lost.
func (b *builder) vanish(th *Thread) {
	if th.cpu >= 0 && th.state == Running {
		b.forget(b.cpu(th.cpu))
	}
	if th.Exited {
		b.end(th, max(th.since, th.ExitTime))
		return
	}
	b.doubt(th)
	b.end(th, b.now)
}

// continueAs gives a thread the id of the first thread of its process, which ended: that is what the
// kernel does when another thread calls exec. The counters go on.
func (b *builder) continueAs(th *Thread, tid uint32) *Thread {
	heir := b.tids.get(tid)
	if heir != nil && !heir.ended && (heir.Exited || heir.Process != th.Process || heir.baseKnown) {
		b.vanish(heir) // it is the first thread still
	}
	if heir == nil || heir.ended {
		heir = b.newThread(tid, b.now)
		heir.Comm, heir.state, heir.cpu, heir.cause = th.Comm, th.state, th.cpu, th.cause
	}
	heir.base, heir.baseKnown = th.base, th.baseKnown
	th.ContinuedAs = heir
	b.end(th, b.now)
	if th.Process != nil {
		th.Process.live--
		if heir.Process == nil {
			b.attach(heir, th.Process)
		}
	}
	if th.cpu >= 0 {
		if c := b.cpu(th.cpu); c.current == th {
			b.inherit(c, heir)
		}
	}
	return heir
}

// inherit makes the thread that another continues as the one that runs on its CPU.
func (b *builder) inherit(c *cpuState, heir *Thread) {
	c.current = heir
	if heir.state == Running && heir.cpu == c.ID {
		return
	}
	if heir.state == Running && heir.cpu >= 0 { // somewhere else: that it left there was missed
		b.forget(b.cpu(heir.cpu))
	}
	b.doubt(heir)
	heir.state, heir.cpu = Running, c.ID
}

// finishThread ends the story of a thread that was not seen to leave its CPU for the last time.
func (b *builder) finishThread(th *Thread) {
	if b.tl.Trailer == nil {
		// What is there of the other events may reach further than the switches.
		b.closeAs(th, th.state, b.switched)
		th.state = Unknown
	}
	if !th.Exited {
		b.closeAs(th, th.state, b.now)
		th.End = b.now
		return
	}
	b.end(th, max(th.since, th.ExitTime))
}

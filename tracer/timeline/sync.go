package timeline

import "github.com/bootscope/bootscope/tracer/event"

// Syncs is how often somebody waited until something was on storage, and how long.
type Syncs struct {
	Count uint64
	Time  uint64
}

func (s *Syncs) add(other *Syncs) {
	s.Count += other.Count
	s.Time += other.Time
}

// Sync is an fsync, fdatasync, sync_file_range, msync, syncfs or sync that returned.
type Sync struct {
	Thread *Thread
	File   *File // nil for sync and msync, and where the probe can't tell
	// Start is when it first had to wait; a call that never had to begins where it ends.
	Start, End uint64
	Syscall    uint16
	Compat     bool
	Result     int32 // 0 or a negative errno
}

func (b *builder) onSync(th *Thread, e *event.Sync) {
	s := &Sync{Thread: th, End: b.now, Start: b.now, Syscall: e.Syscall, Compat: e.Compat != 0, Result: e.Result}
	if th.syncing {
		s.Start = th.syncSince
	}
	th.syncing = false
	one := Syncs{Count: 1, Time: s.End - s.Start}
	if s.File = b.files[e.File]; e.File == 0 {
		s.File = nil
	}
	if s.File != nil {
		s.File.Syncs.add(&one)
	}
	th.Syncs.add(&one)
	for _, sink := range b.sinks {
		sink.Sync(s)
	}
}

// noteWait notes what a wait that has just ended was part of: a page fault or a sync.
func (b *builder) noteWait(th *Thread, s State, from, to uint64) {
	switch {
	case !b.tl.Can.Syscalls:
		return
	case th.syscall == event.NoSyscall:
		// A page fault, or the way out of the kernel: the next major fault will tell.
		if s != Sleeping {
			th.faultTime += to - from
		}
		return
	case b.calls.of(th.syscall, th.compat) == SyncCall && !th.syncing:
		th.syncing, th.syncSince = true, from
	}
	th.faultTime = 0
}

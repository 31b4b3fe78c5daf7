package timeline

import "github.com/bootscope/bootscope/tracer/event"

// Reads is what came from storage into the page cache, in bytes. Pages that were brought to be written are
// not in it, nor is what bypasses the cache (O_DIRECT). On a compressed file system this is more than
// what storage delivered: see Counters.
type Reads struct {
	Bytes   uint64
	Faulted uint64 // of these: by page faults, with the pages around
	Ahead   uint64 // of these: since a program asked for them in advance (readahead, fadvise, madvise)
	Again   uint64 // of these: had been evicted by reclaim in this recording
	Dropped uint64 // of these: had been dropped on demand (drop_caches, fadvise)
}

func (r *Reads) add(other *Reads) {
	r.Bytes += other.Bytes
	r.Faulted += other.Faulted
	r.Ahead += other.Ahead
	r.Again += other.Again
	r.Dropped += other.Dropped
}

// Faults counts major page faults, and how long they blocked.
type Faults struct {
	Count uint64
	Time  uint64
}

func (f *Faults) add(other *Faults) {
	f.Count += other.Count
	f.Time += other.Time
}

// Read is a run of pages of a file that came into the page cache, one after the other.
type Read struct {
	Thread *Thread // nil if it is not known any more
	File   *File
	// Start and End are when the first and the last page came. Reads come when they are known to be over,
	// maybe long after.
	Start, End uint64
	Offset     uint64 // in the file
	Reads             // of this run
	Syscall    uint16 // event.NoSyscall for a page fault
	Compat     bool
}

// inodeKey is a file's identity as the page cache knows it.
type inodeKey struct {
	inode  uint64
	device uint32
}

func (b *builder) onRead(e *event.Read) {
	class := b.calls.of(e.Syscall, e.Flags&event.ReadCompat != 0)
	key := inodeKey{e.Inode, e.Device}
	if class == WriteCall || class == CopyCall && b.inodes[key] != nil && b.inodes[key].written {
		return
	}
	page := b.pageSize
	r := &b.read
	*r = Read{
		Thread: b.reader(e), File: b.fileOfInode(key), Start: e.Start, End: e.Last, Offset: e.Index * page,
		Syscall: e.Syscall, Compat: e.Flags&event.ReadCompat != 0,
		Reads: Reads{Bytes: uint64(e.Pages) * page, Again: uint64(e.Again) * page, Dropped: uint64(e.Dropped) * page},
	}
	faulted := e.Syscall == event.NoSyscall && e.Flags&(event.ReadKernelThread|event.ReadCallerUnknown) == 0
	switch {
	case faulted:
		r.Faulted = r.Bytes
	case class == AheadCall:
		r.Ahead = r.Bytes
	}
	r.File.Reads.add(&r.Reads)
	if r.Thread != nil {
		r.Thread.Reads.add(&r.Reads)
		if faulted {
			r.Thread.faults.brought(r.File, e.Start)
		}
	}
	for _, s := range b.sinks {
		s.Read(r)
	}
}

// reader returns who brought the pages of a run: the event may come after its end, and from the CPU that
// it has left.
func (b *builder) reader(e *event.Read) *Thread {
	th := b.tids.get(e.TID)
	if th == nil && e.TID != 0 {
		return b.named(e.TID, e.PID)
	}
	if th == nil || th.Start > e.Last || th.Process != nil && e.PID != 0 && th.Process.PID != e.PID {
		return nil
	}
	return th
}

// A matcher finds the file of each of a thread's page faults: the pages it brought came after the fault
// before and until its end. Which of the two events is seen first depends on the other tasks of the CPU.
type matcher struct {
	last  uint64 // end of the fault before
	ended []endedFault
	pages []broughtPage
}

type endedFault struct{ from, to, time uint64 }

type broughtPage struct {
	file *File
	at   uint64
}

// Neither can be far behind the other.
const matchWithin = 16

// fault takes in a fault that has just ended, and how long it blocked.
func (m *matcher) fault(now, time uint64) {
	f := endedFault{m.last, now, time}
	m.last = now
	for i, p := range m.pages {
		if f.has(p.at) {
			p.file.Faults.add(&Faults{1, f.time})
			m.pages = append(m.pages[:0], m.pages[i+1:]...)
			return
		}
	}
	m.ended = pushed(m.ended, f)
}

func (m *matcher) brought(file *File, at uint64) {
	for i, f := range m.ended {
		if f.has(at) {
			file.Faults.add(&Faults{1, f.time})
			m.ended = append(m.ended[:i], m.ended[i+1:]...)
			return
		}
	}
	m.pages = pushed(m.pages, broughtPage{file, at})
}

func (f endedFault) has(at uint64) bool { return at > f.from && at <= f.to }

// pushed appends to a list of limited length.
func pushed[T any](list []T, v T) []T {
	if len(list) == matchWithin {
		list = append(list[:0], list[1:]...)
	}
	return append(list, v)
}

func (b *builder) onFault(th *Thread, e *event.Fault) {
	th.FaultEvents++
	th.FaultTime += th.faultTime
	th.faults.fault(b.now, th.faultTime)
	th.faultTime = 0
	for _, s := range b.sinks {
		s.Fault(th, e)
	}
}

package timeline

import "github.com/bootscope/bootscope/tracer/event"

// Sink receives what is too much to keep, while a timeline is built. What a pointer leads to, other than
// a Thread or a File, is valid during the call only. Embed Discard to receive only a part.
type Sink interface {
	// Open is an open that succeeded or failed.
	Open(o *Open)
	// Fault is a major page fault.
	Fault(th *Thread, e *event.Fault)
	// Read is a run of pages that was read from storage.
	Read(r *Read)
	// Sync is an fsync or the like that returned.
	Sync(s *Sync)
	// Socket is a connect, bind or listen that returned.
	Socket(s *Socket)
	// Sample is what ran when the sampling clock ticked.
	Sample(th *Thread, e *event.Sample)
	// Frequency is the frequency that a CPU has from now on. The first comes from the header.
	Frequency(cpu int, time uint64, khz uint32)
}

// An IntervalSink is a Sink that receives what threads do too. There are more intervals than switches, so
// they are not in Sink: only who looks at them is called.
type IntervalSink interface {
	Sink
	// Interval is a stretch of a thread's life in one state. They come when they end.
	Interval(iv *Interval)
}

// Interval is a stretch of a thread's life in one state.
type Interval struct {
	Thread     *Thread
	State      State
	Start, End uint64
	CPU        int    // where it ran, or ran last; -1 if not known
	Syscall    uint16 // in which it sleeps or is blocked, or event.NoSyscall
	Compat     bool   // the system call is from the 32-bit table
	Class      CallClass
	Reclaim    bool   // it waited while it had to free memory
	Cause      Cause  // why it is Runnable
	Waker      uint32 // tid of who ended the sleep (also in the Runnable that follows); 0 an interrupt, or not known
}

// Open is an open call that returned.
type Open struct {
	Thread *Thread
	Time   uint64
	File   *File  // nil if it failed
	Path   string // absolute where the probe can tell; "" if it was lost
	Cut    bool   // the name is longer than what was recorded
	Result int32  // a descriptor, or a negative errno
	Flags  uint32 // O_*
	UserSP uint64
}

// Discard is a sink for nothing.
type Discard struct{}

// Open implements Sink.
func (Discard) Open(*Open) {}

// Fault implements Sink.
func (Discard) Fault(*Thread, *event.Fault) {}

// Read implements Sink.
func (Discard) Read(*Read) {}

// Sync implements Sink.
func (Discard) Sync(*Sync) {}

// Socket implements Sink.
func (Discard) Socket(*Socket) {}

// Sample implements Sink.
func (Discard) Sample(*Thread, *event.Sample) {}

// Frequency implements Sink.
func (Discard) Frequency(int, uint64, uint32) {}

package timeline

// State is what a thread does.
type State uint8

// The thread states.
const (
	Unknown  State = iota // not seen: before the first event that tells, or where events were lost
	Running               // on a CPU
	Runnable              // waits for a CPU
	IOWait                // blocked on I/O
	Blocked               // uninterruptible, for another reason or for one that the probe can't tell
	Sleeping              // waits for an event, in a system call if it is a program
	Stopped               // by a signal or a debugger
	NumStates
)

var stateNames = [NumStates]string{"unknown", "running", "runnable", "io_wait", "blocked", "sleeping", "stopped"}

// String returns the name in lower case.
func (s State) String() string {
	if s < NumStates {
		return stateNames[s]
	}
	return "unknown"
}

// Times is time by state, in nanoseconds.
type Times [NumStates]uint64

// Sum returns the time in all states: a lifetime.
func (t *Times) Sum() (sum uint64) {
	for _, ns := range t {
		sum += ns
	}
	return sum
}

// Add adds another's time.
func (t *Times) Add(other *Times) {
	for s, ns := range other {
		t[s] += ns
	}
}

// Since returns what has been added after an earlier reading.
func (t Times) Since(earlier *Times) Times {
	for s, ns := range earlier {
		t[s] -= ns
	}
	return t
}

// Cause is why a thread became runnable.
type Cause uint8

// The causes.
const (
	NoCause   Cause = iota // not known
	Woken                  // by another thread, or by an interrupt
	Preempted              // another thread got its CPU
	Yielded                // it gave its CPU away
	Forked                 // it is new
)

// Counters are a thread's own, as the kernel counts them.
type Counters struct {
	CPU         uint64 // nanoseconds on a CPU
	MinorFaults uint64
	MajorFaults uint64
	// What the block layer moved on the thread's behalf, in bytes, if the kernel counts that.
	StorageKnown   bool
	StorageRead    uint64
	StorageWritten uint64
}

// since returns the growth; a counter that went back has none.
func (c Counters) since(base Counters) Counters {
	return Counters{
		CPU:            c.CPU - min(base.CPU, c.CPU),
		MinorFaults:    c.MinorFaults - min(base.MinorFaults, c.MinorFaults),
		MajorFaults:    c.MajorFaults - min(base.MajorFaults, c.MajorFaults),
		StorageKnown:   c.StorageKnown && base.StorageKnown,
		StorageRead:    c.StorageRead - min(base.StorageRead, c.StorageRead),
		StorageWritten: c.StorageWritten - min(base.StorageWritten, c.StorageWritten),
	}
}

func (c *Counters) add(other *Counters) {
	c.CPU += other.CPU
	c.MinorFaults += other.MinorFaults
	c.MajorFaults += other.MajorFaults
	c.StorageKnown = c.StorageKnown && other.StorageKnown
	c.StorageRead += other.StorageRead
	c.StorageWritten += other.StorageWritten
}

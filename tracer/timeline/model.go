// Package timeline is the model of a recording: processes and their threads, what state each was in,
// the files they opened, units, frequencies and losses. It is built in one pass over the events and
// only read after that.
//
// What would grow with the number of events (state intervals, opens, samples) is not kept: it goes to
// sinks while the model is built. The package must not know how anything is shown, nor what is
// worth reporting. Times are nanoseconds from boot (CLOCK_BOOTTIME).
package timeline

import "github.com/bootscope/bootscope/tracer/tracefile"

// Timeline is a recording.
type Timeline struct {
	Header   *tracefile.Header
	Trailer  *tracefile.Trailer // nil if the recording was cut off
	Problems []tracefile.Problem
	// Start and End bound the recording: from when every probe was attached to when it was stopped,
	// or to the last event if it was cut off.
	Start, End uint64
	Events     uint64
	Can        Abilities

	Processes []*Process // by time of their first sign
	Threads   []*Thread  // by Thread.Index
	Files     []*File
	Units     []*Unit        // by name
	Memory    []*MemoryGroup // by path
	// Shortage is what tasks had to do because the machine, not a cgroup, ran short of memory.
	Shortage Reclaims
	CPUs     []*CPU
	Policies []*FreqPolicy
	Clocks   []Clock
	Losses   []Loss
	// Interrupts is what each kind of interrupt work took; only recordings of an idle machine have it.
	Interrupts []Interrupts

	Boot       *Boot       // nil if systemd was not asked
	Milestones []Milestone // by time
	KernelLog  []KernelLine
	Journal    []JournalLine
	Activity   *Activity
}

// Complete tells whether the recording has its end.
func (t *Timeline) Complete() bool { return t.Trailer != nil }

// Duration is the length of the recording.
func (t *Timeline) Duration() uint64 { return t.End - t.Start }

// Process is one life of a process: when its id is used again, that is another Process.
type Process struct {
	PID         uint32
	Incarnation int    // 0 for the first process with this id, 1 for the next
	PPID        uint32 // 0 if not known
	Parent      *Process
	// Uncertain: no event told whether this is a process or a thread of its parent.
	Uncertain bool
	Kernel    bool // a kernel thread
	Recorder  bool // the program that recorded
	Command   bool // the command that was recorded, or a descendant of it

	Comms []Named // its first thread's names
	Execs []*Exec // in the recording
	Exe   string  // path of the program; "" if not known
	Argv  []string
	// ArgvCut: the arguments were longer than what was recorded.
	ArgvCut bool

	CgroupID uint64
	Cgroup   string // path of the cgroup, "" if not known
	Unit     *Unit  // nil if the cgroup doesn't tell

	Existed    bool   // before the recording
	StartKnown bool   // Start is when it began; else when it was first seen
	Start      uint64 // may lie before the recording
	Ended      bool   // else it lived on
	End        uint64 // end of its last thread, or of the recording
	Status     *int32 // wait status; nil if it lived on or the probe can't tell

	Threads     []*Thread
	Times       Times  // sum over its threads
	MaybeRan    uint64 // likewise
	Counters    *Counters
	Opens       uint64
	FailedOpens uint64
	FaultEvents uint64 // major faults that were seen one by one
	FaultTime   uint64 // they blocked
	Samples     uint64
	Reads       Reads
	Reclaims    Reclaims
	Syncs       Syncs
	Memory      *MemoryGroup // whose limit holds it, nil if none is known

	memory   groupKey    // its cgroup, as reclaim told
	attached attachments // likewise, as moves told
	live     int         // threads that have not exited
}

// Comm is the last name, "" if no event told it.
func (p *Process) Comm() string {
	if len(p.Comms) == 0 {
		return ""
	}
	return p.Comms[len(p.Comms)-1].Name
}

// Named is a name from a moment on.
type Named struct {
	Time uint64
	Name string
}

// Exec is a program that a process began to run.
type Exec struct {
	Time    uint64
	Name    string // as it was called
	Exe     *File  // nil if the probe can't tell
	Argv    []string
	ArgvCut bool
	MountNS uint32
}

// Thread is one life of a thread.
type Thread struct {
	// Index is the place in Timeline.Threads. It is the same whenever the same source is built, so a sink
	// that needs what is only known at the end can be given to a second Build.
	Index   int
	TID     uint32
	Process *Process // nil while it is built and no event has told it, never after
	Comm    string   // the last one

	Existed    bool // before the recording
	Start, End uint64
	Exited     bool   // it ended in the recording
	ExitTime   uint64 // when exit began; it goes on running for a little
	Status     *int32
	// ContinuedAs is the thread that this one became, when it called exec and was not the first.
	ContinuedAs *Thread

	Times    Times  // their sum is End - Start
	MaybeRan uint64 // the part of Times[Unknown] in which it may have run
	Sleeps   []Sleep
	Switches uint64 // how often it left a CPU
	Wakeups  uint64 // how often it was woken
	// Voluntary counts the switches by which it went to sleep or ended: what /proc/PID/status calls so.
	Voluntary uint64
	// IdleExits counts how often it was what ended a CPU's idle time.
	IdleExits uint64
	Counters  *Counters // over the recording; nil if they were not measured

	FaultEvents uint64
	FaultTime   uint64
	Samples     uint64
	Reads       Reads
	Reclaims    Reclaims
	Syncs       Syncs

	liveThread
}

// Sleep is time asleep in a system call.
type Sleep struct {
	Syscall uint16 // event.NoSyscall for none or not known
	Compat  bool
	State   State // Sleeping, Blocked or IOWait
	Reclaim bool  // while it had to free memory
	Time    uint64
	Count   uint64
}

// File is a file that has a name.
type File struct {
	Path     string // "" for what has none, or whose path was lost
	Device   uint32 // as the kernel packs it; 0 if the probe can't tell
	Inode    uint64 // 0 if the probe can't tell
	Mode     uint32
	Size     uint64 // when its path was sent
	Cut      bool   // the path's beginning is missing
	Unlinked bool
	Opens    uint64
	// BlockDevice: these are blocks of a device that don't belong to a file, such as directories and the tables
	// of inodes. Device is the device.
	BlockDevice bool
	Reads       Reads
	Faults      Faults // those of which the file is known
	Syncs       Syncs

	unnamed bool // known by its pages only
	written bool // opened for writing when it was last opened
}

// Unit is a systemd unit, from the cgroup's path or from systemd.
type Unit struct {
	Name      string
	Systemd   *Activation // what systemd says of it; nil if it was not asked
	Processes []*Process
	Times     Times
	Reads     Reads
	Reclaims  Reclaims
	Syncs     Syncs
}

// CPU is a processor and what its time went to.
type CPU struct {
	ID          int
	Busy        uint64
	Idle        uint64
	Unknown     uint64
	Offline     uint64 // neither busy nor idle: it was not there
	Absences    []Absence
	Frequencies []FreqTime
	// UnknownFrequency is time before the first frequency was known.
	UnknownFrequency uint64
	Transitions      uint64
}

// FreqTime is how long a CPU had a frequency, idle time included, offline time not.
type FreqTime struct {
	KHz  uint32
	Time uint64
}

// FreqPolicy is a set of CPUs that change frequency together. Its times are those of its first CPU.
type FreqPolicy struct {
	Name        string
	CPUs        []int
	Governor    string
	Transitions uint64
	Times       []FreqTime // by frequency
}

// Clock is a reading of all clocks at one moment.
type Clock struct {
	Boot      uint64
	Realtime  uint64 // since 1970
	Monotonic uint64
	Reason    uint32 // event.ClockReason
}

// Loss counts lost events.
type Loss struct {
	Probe  string
	Reason string
	Count  uint64
}

// Lost is how many events were lost.
func (t *Timeline) Lost() (sum uint64) {
	for _, l := range t.Losses {
		sum += l.Count
	}
	return sum
}

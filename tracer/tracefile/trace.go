// Package tracefile is the trace file: its writer, its reader, and its text twin.
//
// It knows bytes, chunks and time order. It must not know where events come from (tracer/record) or
// what they mean (tracer/timeline).
package tracefile

import (
	"iter"

	"github.com/bootscope/bootscope/tracer/event"
)

// A Source gives a trace's events: a file, or a text in a test.
type Source interface {
	// Header is what was known when the recording began.
	Header() *Header
	// Trailer is what was known when it ended, or nil for a trace that was cut off.
	Trailer() *Trailer
	// Problems lists what is damaged in the source and was skipped.
	Problems() []Problem
	// Events yields every event in order of time. An event is valid until the next one is asked for;
	// its tail likewise. Iterating again begins anew. An error ends the iteration.
	Events() iter.Seq2[event.Event, error]
}

// Header begins a trace.
type Header struct {
	Tool     string `json:"tool"`    // name and version of the program that recorded
	Kernel   string `json:"kernel"`  // release, as uname -r prints it
	Arch     string `json:"arch"`    // as uname -m prints it
	CPUs     int    `json:"cpus"`    // possible CPUs
	Online   []int  `json:"online"`  // CPUs that were online at the start
	BootID   string `json:"boot_id"` // /proc/sys/kernel/random/boot_id
	Machine  string `json:"machine"` // model of the board, "" if the firmware doesn't tell
	PageSize int    `json:"page_size"`
	// TickHz is USER_HZ, the unit of the times in /proc.
	TickHz int `json:"tick_hz"`
	// Start is when every probe was attached, in nanoseconds from boot (CLOCK_BOOTTIME). What came
	// before it was not recorded.
	Start       uint64   `json:"start_ns"`
	RecorderPID uint32   `json:"recorder_pid"`
	Command     []string `json:"command,omitempty"`     // that record ran, if it did
	CommandPID  uint32   `json:"command_pid,omitempty"` // 0 if none
	SampleHz    int      `json:"sample_hz,omitempty"`
	// Sync is how often the file was brought onto the disk while it was written, in nanoseconds; 0 if that
	// was left to the kernel. What was written since is what a power cut takes.
	Sync    uint64        `json:"sync_ns,omitempty"`
	Probes  []ProbeStatus `json:"probes"`
	CPUFreq []FreqPolicy  `json:"cpufreq,omitempty"`
	Sensors []Sensor      `json:"sensors,omitempty"`
	Specs   []event.Spec  `json:"specs"`
}

// ProbeStatus tells what became of a probe.
type ProbeStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"`           // StatusOn, StatusLesser or StatusOff
	Via    string `json:"via,omitempty"`    // how it is attached, e.g. "tp_btf/sched_switch"
	Reason string `json:"reason,omitempty"` // why it is off, or why better ways failed
}

// What can become of a probe.
const (
	StatusOn     = "on"
	StatusLesser = "lesser" // it works, in a way that records less or costs more
	StatusOff    = "off"
)

// FreqPolicy is a set of CPUs that change frequency together.
type FreqPolicy struct {
	Name       string `json:"name"` // "policy0"
	CPUs       []int  `json:"cpus"`
	Governor   string `json:"governor"`
	CurrentKHz uint32 `json:"current_khz"` // at the start
	// Transitions is how often the kernel has counted a change of frequency since the driver was loaded;
	// nil where it doesn't count.
	Transitions *uint64 `json:"transitions,omitempty"`
}

// Sensor is a temperature.
type Sensor struct {
	Name         string `json:"name"` // "cpu-thermal"
	MilliCelsius int64  `json:"millicelsius"`
}

// Trailer ends a trace.
type Trailer struct {
	End uint64 `json:"end_ns"` // when recording stopped, in nanoseconds from boot
	// Why it ended, in words: "the command ended", "SIGINT", "no space left on device".
	Reason   string        `json:"reason"`
	Probes   []ProbeStatus `json:"probes,omitempty"` // if something changed since the header
	Lost     []Loss        `json:"lost"`
	Programs []Program     `json:"programs"`
	Self     Self          `json:"self"`
	CPUFreq  []FreqPolicy  `json:"cpufreq,omitempty"` // as it was at the end
	Sensors  []Sensor      `json:"sensors,omitempty"` // likewise
	// CPUChanges are in order of time. The CPUs that were online at the start are in the header.
	CPUChanges []CPUChange `json:"cpu_changes,omitempty"`
	// ExitStatus of the command that record ran, as a shell reports it; nil if there was none.
	ExitStatus *int `json:"exit_status,omitempty"`
}

// CPUChange is a CPU that went offline or came online.
type CPUChange struct {
	// Time is when the recorder knew it, in nanoseconds from boot: a moment after it was done.
	Time   uint64 `json:"t_ns"`
	CPU    int    `json:"cpu"`
	Online bool   `json:"online"`
	// Covered is when the probes that work CPU by CPU (fault, sample, mapping) had been attached to a CPU
	// that came: what they would have told before it is missing. 0 for one that went, and where it failed.
	Covered uint64 `json:"covered_ns,omitempty"`
}

// Loss counts lost events.
type Loss struct {
	Probe  string `json:"probe"`
	Reason string `json:"reason"` // event.LostReason in words
	Count  uint64 `json:"count"`
}

// Program is what a BPF program cost, from the kernel's own statistics.
type Program struct {
	Name string `json:"name"`
	// Runs and RunTime were counted during Measured nanoseconds of the recording, not all of it:
	// the statistics themselves cost 75 to 170 ns for every run.
	Runs     uint64 `json:"runs"`
	RunTime  uint64 `json:"run_time_ns"`
	Measured uint64 `json:"measured_ns"`
	Skipped  uint64 `json:"skipped"` // recursion_misses, over the whole recording
}

// Self is what the recorder itself took.
type Self struct {
	CPU          uint64 `json:"cpu_ns"`                // user and system time of the recorder, in all
	StartCPU     uint64 `json:"start_cpu_ns"`          // of that, until everything was attached
	LoadCPU      uint64 `json:"load_cpu_ns,omitempty"` // of that, in the kernel, which verified its programs
	BPF          uint64 `json:"bpf_ns"`                // run time of its programs, extrapolated by what they gave
	MaxRSS       uint64 `json:"max_rss_bytes"`
	Attach       uint64 `json:"attach_ns"` // from its start until everything was attached
	BytesWritten uint64 `json:"bytes_written"`
}

// Problem is a place in a file that could not be read.
type Problem struct {
	Offset int64
	Length int64 // bytes that were skipped
	Cause  string
}

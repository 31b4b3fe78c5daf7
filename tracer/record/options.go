//go:build linux

// Package record records: it chooses how each probe is attached on this kernel, attaches, drains
// what the programs write, and accounts for what was lost and what it cost. What events mean is
// nobody's business here.
package record

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Options say what to record and where to.
type Options struct {
	Output      string                 // file to write; "-" is standard output
	Force       bool                   // replace Output if it exists
	Duration    time.Duration          // 0: until the command ends or a signal comes
	Command     []string               // to run and record with everything else; nil: only record
	NoArgs      bool                   // leave argv out of the trace
	NoBTF       bool                   // record as on a kernel without BTF
	BTF         string                 // a file with the kernel's BTF; "": the kernel's own
	Cache       []string               // directories where what a start finds out about the kernel is looked for
	Without     []string               // probes to leave off
	Attach      map[string]string      // probe to the way it must be attached in, or the way's beginning
	SampleHz    int                    // CPU samples per second and CPU
	BufferBytes int                    // of the ring buffer for everything but sched events
	Idle        bool                   // look at an idle machine: don't wake it, tell what does
	Milestones  []*milestone.Milestone // moments to mark
	Until       string                 // the name of the milestone to stop at
	Tool        string                 // name and version of this program, for the header
	// Interval is how often the buffers are drained, at the latest; 0: as suits the recording. In between
	// nothing wakes the recorder.
	Interval time.Duration
	// Drained is called each time that they were, if it is not nil: all events before a moment are in the
	// file by then, or given to Live.
	Drained func(before uint64) error
	// Live gets all that is written to the file, if it is not nil.
	Live *tracefile.Live
	// Notice is told, in words, what the user should know while recording.
	Notice func(format string, args ...any)
}

// Defaults of the options.
const (
	DefaultSampleHz    = 199 // prime, so as not to beat with anything periodic
	DefaultBufferBytes = 8 << 20
)

const (
	drainInterval = time.Second      // at the latest; full buffers are drained earlier
	idleInterval  = 10 * time.Second // a machine that does little fills little
	rtInterval    = time.Second / 5  // where the sched programs can't wake the reader
	flushInterval = 5 * time.Second  // what a killed recorder loses at most, with drainInterval
)

// Capabilities that recording needs, by their bits (linux/capability.h).
var neededCapabilities = []struct {
	bit  uint
	name string
}{
	{39, "CAP_BPF"}, {38, "CAP_PERFMON"},
}

const capSysAdmin = 21

// checkPrivileges says what is missing before the kernel says only EPERM: first of all, programs.
func checkPrivileges() error {
	if err := haveObjects(); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil // no /proc: the kernel will tell
	}
	return explainCapabilities(string(status))
}

func explainCapabilities(status string) error {
	var effective uint64
	for _, line := range strings.Split(status, "\n") {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			effective, _ = strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		}
	}
	if effective>>capSysAdmin&1 != 0 {
		return nil
	}
	var missing []string
	for _, c := range neededCapabilities {
		if effective>>c.bit&1 == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("recording needs %s: run it as root (sudo), or give the binary what it needs: "+
		"sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep %s", strings.Join(missing, " and "), os.Args[0])
}

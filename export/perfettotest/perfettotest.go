// Package perfettotest reads exports back, for tests: protoc decodes them by a schema of its own, and
// what it finds is put together as Perfetto does, by the rules of its format. Compare holds that against
// the recording.
//
// It must not use anything of the encoder.
package perfettotest

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
)

//go:embed trace.proto
var schema []byte

// Trace is what a reader of the format gets to know.
type Trace struct {
	Switches    []Switch
	Wakings     []Waking
	NewTasks    []NewTask
	Renames     []Rename
	Frees       []Free
	Blocked     []Blocked
	Frequencies []Frequency
	Processes   []Process // from process trees
	Threads     []Thread  // likewise
	Tracks      map[uint64]*Track
	Events      []Event // of tracks
	Clocks      []map[int64]uint64
	Kernel      string
	LostOn      []int // CPUs, one for each bundle that begins after a loss
}

// Switch is a context switch. Prev is known from the switch before where the form has no room for it.
type Switch struct {
	Time       uint64
	CPU        int
	Prev, Next int64
	State      int64
	Name       string // of the next one
	compact    bool
}

// Waking is a wake-up. Waker is known from the switch before where the form has no room for it.
type Waking struct {
	Time      uint64
	CPU       int
	Waker     int64
	Target    int64
	TargetCPU int64
	Name      string
	Flags     int64
	compact   bool
}

// NewTask is a fork.
type NewTask struct {
	Time          uint64
	CPU           int
	Parent, Child int64
	Name          string
	Thread        bool
}

// Rename is a new name of a task.
type Rename struct {
	Time     uint64
	Task     int64
	Old, New string
}

// Free is the end of a thread.
type Free struct {
	Time uint64
	Task int64
}

// Blocked tells what a task that has just left its CPU waits for.
type Blocked struct {
	Time   uint64
	Task   int64
	IOWait bool
}

// Frequency is that of a CPU from now on.
type Frequency struct {
	Time uint64
	CPU  int
	KHz  int64
}

// Process is a process of a process tree.
type Process struct {
	Time      uint64
	PID, PPID int64
	Cmdline   []string
	Kernel    bool
}

// Thread is a thread of a process tree.
type Thread struct {
	Time     uint64
	TID, PID int64
	Name     string
}

// Track is where events are shown.
type Track struct {
	UUID, Parent uint64
	Name         string
	PID, TID     int64 // 0 for none
	Time         uint64
	Rank         int64
}

// Event is a begin, an end or a moment on a track.
type Event struct {
	Time     uint64
	Type     int64
	Track    uint64
	Category string
	Name     string
	Args     map[string]any // string, int64, uint64 (a pointer), bool or []string
}

// The types of an Event.
const (
	Begin   = 1
	End     = 2
	Instant = 3
)

// Decode lets protoc write a trace as text.
func Decode(protoc string, trace []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "perfettotest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "trace.proto"), schema, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(protoc, "--proto_path="+dir, "--decode=perfetto.protos.Trace", "trace.proto")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(trace), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	if stderr.Len() > 0 {
		return nil, fmt.Errorf("protoc warns: %s", stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// Read reads what Decode returns.
func Read(text []byte) (*Trace, error) {
	r := &reader{trace: &Trace{Tracks: map[uint64]*Track{}}}
	if err := parseText(bytes.NewReader(text), r.packet); err != nil {
		return nil, err
	}
	if err := r.trace.order(); err != nil {
		return nil, err
	}
	return r.trace, nil
}

// order puts switches and wakings in order of time, as a reader does, and completes those in columns.
func (t *Trace) order() error {
	sort.SliceStable(t.Switches, func(i, j int) bool { return t.Switches[i].Time < t.Switches[j].Time })
	sort.SliceStable(t.Wakings, func(i, j int) bool { return t.Wakings[i].Time < t.Wakings[j].Time })
	var steps []step
	for i := range t.Switches {
		steps = append(steps, step{t.Switches[i].Time, rank(t.Switches[i].compact, 0), &t.Switches[i], nil})
	}
	for i := range t.Wakings {
		steps = append(steps, step{t.Wakings[i].Time, rank(t.Wakings[i].compact, 1), nil, &t.Wakings[i]})
	}
	sort.SliceStable(steps, func(i, j int) bool {
		a, b := steps[i], steps[j]
		return a.time < b.time || a.time == b.time && a.rank < b.rank
	})
	current := map[int]int64{}
	for _, s := range steps {
		if err := s.complete(current); err != nil {
			return err
		}
	}
	return nil
}

// step is a switch or a waking.
type step struct {
	time   uint64
	rank   int
	on     *Switch
	waking *Waking
}

// rank orders what has the same time: readers take the columns first.
func rank(compact bool, column int) int {
	if compact {
		return column
	}
	return 2
}

// complete fills in what a column doesn't have, from who runs on each CPU.
func (s step) complete(current map[int]int64) error {
	if w := s.waking; w != nil {
		waker, ok := current[w.CPU]
		if w.compact && !ok {
			return fmt.Errorf("a reader drops the waking at %d ns: no switch came before on CPU %d, and it is in a column", w.Time, w.CPU)
		}
		if w.compact {
			w.Waker, w.compact = waker, false
		}
		return nil
	}
	prev, ok := current[s.on.CPU]
	if s.on.compact && !ok {
		return fmt.Errorf("a reader drops the switch at %d ns: it is the first on CPU %d, and in a column", s.on.Time, s.on.CPU)
	}
	if s.on.compact {
		s.on.Prev, s.on.compact = prev, false
	}
	current[s.on.CPU] = s.on.Next
	return nil
}

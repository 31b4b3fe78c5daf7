//go:build vmtest

package boottest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A trace is what the test looks at in a recording, taken from its events alone.
type trace struct {
	header     *tracefile.Header
	trailer    *tracefile.Trailer
	problems   []tracefile.Problem
	execs      map[uint32][]uint64 // when each process called exec
	programs   []executed          // that were executed, in order of time
	units      map[string]*unit    // as systemd told at the end
	live       map[string]*unit    // as it told at the first activation
	manager    *event.Manager
	milestones map[string]uint64
	kernelLog  []string
	journal    map[string][]string // messages by unit
	sockets    []event.Socket
	paths      map[uint64]string
	opens      map[uint32][]string // paths by process
	cgroups    map[uint64]string
	cgroupOf   map[uint32]uint64
	clocks     []event.Clock
	events     int
	last       uint64 // time of the last event
}

// executed is a program that a process became.
type executed struct {
	pid  uint32
	path string
}

type unit struct {
	event.Unit
	properties map[string]string
}

func readTrace(t *testing.T, name string) *trace {
	t.Helper()
	f, err := tracefile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr := &trace{header: f.Header(), execs: map[uint32][]uint64{}, units: map[string]*unit{}, live: map[string]*unit{},
		milestones: map[string]uint64{}, journal: map[string][]string{}, paths: map[uint64]string{}, opens: map[uint32][]string{},
		cgroups: map[uint64]string{}, cgroupOf: map[uint32]uint64{}}
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		tr.events++
		tr.last = e.Head().Time
		tr.add(e)
	}
	tr.trailer, tr.problems = f.Trailer(), f.Problems()
	return tr
}

func (tr *trace) add(e event.Event) {
	tail := strings.Split(string(bytes.TrimSuffix(e.Head().TailBytes(), []byte{0})), "\x00")
	switch e := e.(type) {
	case *event.Exec:
		tr.execs[e.PID] = append(tr.execs[e.PID], e.Time)
		tr.cgroupOf[e.PID] = e.Cgroup
		path := tr.paths[e.Exe]
		if path == "" { // the name as the caller wrote it
			path = tail[0]
		}
		tr.programs = append(tr.programs, executed{e.PID, path})
	case *event.Fork:
		if e.ChildTID == e.ChildPID {
			tr.cgroupOf[e.ChildPID] = e.Cgroup
		}
	case *event.Cgroup:
		if e.Hierarchy == 0 {
			tr.cgroups[e.Cgroup] = tail[0]
		}
	case *event.Unit:
		u := &unit{Unit: *e, properties: map[string]string{}}
		for _, p := range tail {
			name, value, _ := strings.Cut(p, "=")
			u.properties[name] = value
		}
		if e.CaughtLive != 0 {
			tr.live[u.properties["Id"]] = u
		} else {
			tr.units[u.properties["Id"]] = u
		}
	case *event.Manager:
		copied := *e
		tr.manager = &copied
	case *event.Milestone:
		tr.milestones[tail[0]] = e.Time
	case *event.KernelLog:
		tr.kernelLog = append(tr.kernelLog, tail[0])
	case *event.Journal:
		tr.journal[tail[0]] = append(tr.journal[tail[0]], tail[len(tail)-1])
	case *event.Socket:
		e.SetTail(bytes.Clone(e.TailBytes()))
		tr.sockets = append(tr.sockets, *e)
	case *event.Path:
		tr.paths[e.File] = e.Path()
	case *event.Open:
		if e.Result >= 0 {
			path := tr.paths[e.File]
			if path == "" { // the name as the caller wrote it
				path = tail[0]
			}
			tr.opens[e.PID] = append(tr.opens[e.PID], path)
		}
	case *event.Clock:
		tr.clocks = append(tr.clocks, *e)
	}
}

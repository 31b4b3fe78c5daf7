package export

import (
	"bytes"
	"iter"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// perfBegin is a source that takes note, when it is read, of what was there before the recording. The
// recorder finds that out while it records already, so it comes after the first events, where a reader of
// perf.data needs it before them.
type perfBegin struct {
	tracefile.Source
	comms    map[uint32]string // names of threads
	mappings []*event.Mapping
	running  map[uint16]uint32 // the thread that ran on a CPU when the recording began; 0 is none
}

func newPerfBegin(source tracefile.Source) *perfBegin {
	return &perfBegin{Source: source, comms: map[uint32]string{}, running: map[uint16]uint32{}}
}

// Events implements tracefile.Source.
func (b *perfBegin) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var scan perfScan
		for e, err := range b.Source.Events() {
			if e != nil {
				b.note(e, scan.finds(e))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (b *perfBegin) note(e event.Event, found bool) {
	switch e := e.(type) {
	case *event.Mapping:
		if found {
			m := *e
			m.SetTail(bytes.Clone(m.TailBytes()))
			b.mappings = append(b.mappings, &m)
		}
	case *event.Task:
		if e.Phase == uint8(event.TaskAtStart) {
			b.comms[e.TID] = event.Comm(e.Comm)
		}
	case *event.Switch:
		b.noteRunning(&e.Header)
	case *event.Waking:
		if e.TID != 0 { // it is 0 as well when who runs isn't known yet
			b.noteRunning(&e.Header)
		}
	}
}

func (b *perfBegin) noteRunning(h *event.Header) {
	if _, known := b.running[h.CPU]; !known {
		b.running[h.CPU] = h.TID
	}
}

// perfScan tells which mappings the recorder found when it began, from those made later. It finds them
// before the tasks, in /proc, which gives no build ids. What a process has mapped since it was forked or
// called exec is not among them.
type perfScan struct {
	over    bool
	changed map[uint32]bool // processes
}

// finds takes events in their order and tells whether this one is a mapping that was found.
func (s *perfScan) finds(e event.Event) bool {
	if s.over {
		return false
	}
	switch e := e.(type) {
	case *event.Mapping:
		return e.BuildIDBytes == 0 && e.Inode != 0 && !s.changed[e.PID]
	case *event.Fork:
		s.change(e.ChildTID) // a thread's own id is no process's
	case *event.Exec:
		s.change(e.PID)
	case *event.Task:
		s.over = true
	}
	return false
}

func (s *perfScan) change(pid uint32) {
	if s.changed == nil {
		s.changed = map[uint32]bool{}
	}
	s.changed[pid] = true
}

package export

import (
	"iter"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// tasksAt returns which threads live at a moment, and what is known of them, as the recorder tells it when
// it begins.
func tasksAt(source tracefile.Source, at uint64) ([]*event.Task, error) {
	s := &snapshot{Source: source, at: at}
	tl := timeline.Grow(s)
	if err := tl.Update(); err != nil {
		return nil, err
	}
	var tasks []*event.Task
	for _, th := range tl.Threads {
		if !th.Exited && th.Process != nil && th.ContinuedAs == nil {
			tasks = append(tasks, s.task(th))
		}
	}
	return tasks, nil
}

// snapshot is a source that ends at a moment.
type snapshot struct {
	tracefile.Source
	at   uint64
	lost bool // switches or wakings, before
}

// Events implements tracefile.Source.
func (s *snapshot) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range s.Source.Events() {
			if err == nil && e.Head().Time > s.at {
				return
			}
			if lost, ok := e.(*event.Lost); ok && event.Probe(lost.Probe) == event.ProbeSched {
				s.lost = true
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// letter is a thread's state as /proc/PID/stat has it, which has no letter for I/O wait alone. 'R' says
// nothing: whether it ran or waited for a CPU, or was woken without a trace, its first event will tell.
func (s *snapshot) letter(th *timeline.Thread) byte {
	if s.lost {
		return 'R'
	}
	before := th.TimesAt(s.at)
	now := th.TimesAt(s.at + 1).Since(&before)
	switch {
	case now[timeline.Sleeping] > 0:
		return 'S'
	case now[timeline.Blocked] > 0:
		return 'D'
	case now[timeline.Stopped] > 0:
		return 'T'
	}
	return 'R'
}

func (s *snapshot) task(th *timeline.Thread) *event.Task {
	p := th.Process
	t := &event.Task{
		Header: event.Header{Time: s.at, TID: th.TID, PID: p.PID, Kind: uint16(event.KindTask)},
		Start:  min(th.Start, s.at-1), Cgroup: p.CgroupID, Parent: p.PPID, State: s.letter(th),
		Phase: uint8(event.TaskAtStart), Comm: event.CommBytes(th.Comm),
	}
	if th.TID == p.PID {
		t.Start = min(p.Start, s.at-1)
	}
	if p.Kernel {
		t.KernelThread = 1
	}
	t.SetTail([]byte(strings.Join(append([]string{p.Exe}, p.Argv...), "\x00") + "\x00"))
	return t
}

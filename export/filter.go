package export

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A Selection says which part of a recording is wanted. Its zero value is all of it.
type Selection struct {
	From, To uint64 // nanoseconds from boot; a To of 0 is the end
	Process  string // pid or name of the processes, or of the scripts that they run
	Unit     string // systemd unit that they are part of
}

// Select returns the part of a source that is wanted, as a source: every format can write it, and none has
// to know. What is left out was, for all that the part tells, idle time.
//
// The part begins as a recording does, with a task event for each thread that lives then. Of who began the
// chosen processes only what names them is kept.
func Select(source tracefile.Source, selection Selection) (tracefile.Source, error) {
	if selection == (Selection{}) {
		return source, nil
	}
	p := &part{Source: source, from: max(selection.From, source.Header().Start), to: forever}
	if selection.To != 0 {
		p.to = selection.To
	}
	tl, err := timeline.Build(source)
	if err != nil {
		return nil, err
	}
	if p.from >= min(p.to, tl.End) {
		return nil, fmt.Errorf("there is nothing from %.6f s to %.6f s: the recording goes from %.6f s to %.6f s after boot",
			float64(selection.From)/1e9, float64(min(p.to, tl.End))/1e9, float64(tl.Start)/1e9, float64(tl.End)/1e9)
	}
	p.lives, p.later = newLifeTable(tl), p.from > tl.Start
	if p.later {
		if p.tasks, err = tasksAt(source, p.from); err != nil {
			return nil, err
		}
	}
	if selection.Process != "" || selection.Unit != "" {
		if err := p.choose(tl, selection); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// part is a part of another source.
type part struct {
	tracefile.Source
	from, to uint64
	lives    lifeTable
	later    bool          // it begins later than the recording
	tasks    []*event.Task // the threads that lived then
	// chosen are the processes that are wanted, parents those that began them; nil if all are wanted.
	chosen, parents map[*timeline.Process]bool
}

// choose finds the wanted processes.
func (p *part) choose(tl *timeline.Timeline, selection Selection) error {
	p.chosen, p.parents = map[*timeline.Process]bool{}, map[*timeline.Process]bool{}
	for _, process := range tl.Processes {
		if selection.matches(process) {
			p.chosen[process] = true
			p.parents[process.Parent] = true
		}
	}
	if len(p.chosen) > 0 {
		return nil
	}
	if selection.Process == "" {
		return fmt.Errorf("no process is part of unit %q: report --top 0 lists all units", selection.Unit)
	}
	return fmt.Errorf("there is no process %q: report --top 0 lists all processes", strings.TrimSpace(selection.Process+" "+selection.Unit))
}

// matches tells whether a process is wanted.
func (s *Selection) matches(p *timeline.Process) bool {
	if s.Unit != "" && (p.Unit == nil || p.Unit.Name != s.Unit) {
		return false
	}
	if s.Process == "" || s.Process == strconv.FormatUint(uint64(p.PID), 10) {
		return true
	}
	if s.Process == p.Comm() || s.Process == path.Base(p.Exe) {
		return true
	}
	// The program as it was called, or the script that it runs.
	return slices.ContainsFunc(p.Argv[:min(len(p.Argv), 2)], func(arg string) bool { return path.Base(arg) == s.Process })
}

// Header implements tracefile.Source.
func (p *part) Header() *tracefile.Header {
	h := *p.Source.Header()
	h.Start = p.from
	return &h
}

// Trailer implements tracefile.Source. What was lost is said of the whole recording: when is not known.
func (p *part) Trailer() *tracefile.Trailer {
	t := p.Source.Trailer()
	if t == nil || p.to >= t.End {
		return t
	}
	cut := *t
	cut.End = p.to
	return &cut
}

// Events implements tracefile.Source.
func (p *part) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, task := range p.tasks {
			if e := p.ofTask(task); e != nil && !yield(e, nil) {
				return
			}
		}
		for e, err := range p.Source.Events() {
			if err == nil {
				if e = p.filter(e); e == nil {
					continue
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// filter returns an event as the part has it, or nil. Facts that hold whenever they are told are kept, or
// later ones would lack their names.
func (p *part) filter(e event.Event) event.Event {
	h := e.Head()
	switch e := e.(type) {
	case *event.Path, *event.Cgroup, *event.Clock, *event.Cpufreq, *event.Memory, *event.Interrupts:
		return e
	case *event.Mapping:
		return kept(e, p.wantsProcess(h.PID, h.Time))
	case *event.Read: // told when it is over
		return kept(e, e.Last >= p.from && e.Start <= p.to && p.wants(h.TID, e.Start, false))
	case *event.Task:
		if h.Time > p.to || p.later && h.Time < p.from {
			return nil
		}
		return p.ofTask(e)
	}
	if h.Time < p.from && p.later || h.Time > p.to {
		return nil
	}
	if p.chosen == nil {
		return e
	}
	return p.ofChosen(e)
}

func kept(e event.Event, wanted bool) event.Event {
	if wanted {
		return e
	}
	return nil
}

// ofTask keeps a thread that is only named from having a state.
func (p *part) ofTask(e *event.Task) event.Event {
	switch {
	case p.wants(e.TID, e.Time, false):
		return e
	case p.wants(e.TID, e.Time, true):
		named := *e
		named.State = 'R'
		return &named
	}
	return nil
}

// ofChosen returns what an event says of chosen processes, or nil.
func (p *part) ofChosen(e event.Event) event.Event {
	h := e.Head()
	switch e := e.(type) {
	case *event.Switch:
		return p.ofSwitch(e)
	case *event.Waking:
		if !p.wants(e.Target, h.Time, false) {
			return nil
		}
		if !p.wants(h.TID, h.Time, false) {
			w := *e
			w.TID, w.PID = 0, 0
			return &w
		}
		return e
	case *event.Fork:
		return kept(e, p.wants(e.ChildTID, h.Time, false))
	case *event.Rename:
		return kept(e, p.wants(e.Target, h.Time, true))
	case *event.Exec, *event.Args, *event.Exit, *event.CgroupAttach:
		return kept(e, p.wants(h.TID, h.Time, true))
	case *event.Open, *event.Fault, *event.Sample, *event.Reclaim, *event.Sync, *event.Socket:
		return kept(e, p.wants(h.TID, h.Time, false))
	}
	return e
}

// ofSwitch shows threads that aren't chosen as the idle task.
func (p *part) ofSwitch(e *event.Switch) event.Event {
	s := *e
	if !p.wants(e.TID, e.Time, false) {
		s.TID, s.PID, s.State, s.Syscall = 0, 0, uint8(event.StateYielded), event.NoSyscall
	}
	if !p.wants(e.Next, e.Time, false) {
		s.Next = 0
	}
	if s.TID == 0 && s.Next == 0 {
		return nil
	}
	return &s
}

// wants tells whether the thread that had an id at a time is wanted, or named because of its children.
func (p *part) wants(tid uint32, at uint64, named bool) bool {
	if p.chosen == nil {
		return true
	}
	th := p.lives.find(tid, at)
	return tid != 0 && th != nil && (p.chosen[th.Process] || named && p.parents[th.Process])
}

// wantsProcess tells it of a process whose first thread may not be known.
func (p *part) wantsProcess(pid uint32, at uint64) bool { return p.wants(pid, at, false) }

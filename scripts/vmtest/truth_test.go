//go:build vmtest

package vmtest

import (
	"path"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// steps is what guest/workload.py did and what the kernel answered.
type steps struct {
	Waiting  []uint32     `json:"waiting"` // processes that waited in an open of a FIFO
	Opens    []openStep   `json:"opens"`
	Syncs    []syncStep   `json:"syncs"`
	Socket   string       `json:"socket"` // its path
	Sockets  []socketStep `json:"sockets"`
	Children []child      `json:"children"`
	Cgroup   struct {
		PID  uint32 `json:"pid"`
		Path string `json:"path"`
	} `json:"cgroup"`
	Switches [2]switchCount `json:"switches"` // before and after many switches
}

type openStep struct {
	Name   string `json:"name"` // as it was written
	Path   string `json:"path"` // absolute, of what was found
	Result int32  `json:"result"`
}

type syncStep struct {
	Call   string `json:"call"`
	Path   string `json:"path"` // "" for all files
	Result int32  `json:"result"`
}

type socketStep struct {
	Call   string `json:"call"`
	Result int32  `json:"result"`
}

// A child is a process, as its parent knows it from wait4.
type child struct {
	PID    uint32   `json:"pid"`
	Argv   []string `json:"argv"`
	Status int32    `json:"status"`
	Minor  uint64   `json:"minor"`
	Major  uint64   `json:"major"`
}

// A switchCount is the kernel's own count, read at some time between two moments.
type switchCount struct {
	Count uint64 `json:"count"`
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
}

// A stepSink keeps what one process opened, synced and did with sockets, and who opened its FIFO.
type stepSink struct {
	timeline.Discard
	pid     uint32
	arch    string
	opens   []timeline.Open
	syncs   []syncStep
	sockets []timeline.Socket
	waiting []uint32
}

func (s *stepSink) Open(o *timeline.Open) {
	pid := pidOf(o.Thread)
	if pid == s.pid {
		s.opens = append(s.opens, *o)
	} else if path.Base(o.Path) == "fifo" && o.Result >= 0 {
		s.waiting = append(s.waiting, pid)
	}
}

func (s *stepSink) Sync(e *timeline.Sync) {
	if pidOf(e.Thread) != s.pid {
		return
	}
	step := syncStep{Call: syscalls.Name(s.arch, e.Compat, e.Syscall), Result: e.Result}
	if e.File != nil {
		step.Path = e.File.Path
	}
	s.syncs = append(s.syncs, step)
}

func (s *stepSink) Socket(e *timeline.Socket) {
	if pidOf(e.Thread) == s.pid {
		s.sockets = append(s.sockets, *e)
	}
}

func pidOf(th *timeline.Thread) uint32 {
	if th.Process == nil {
		return 0
	}
	return th.Process.PID
}

// checkSteps compares what was recorded with what was done.
func (r *recording) checkSteps() {
	told := &r.told.Steps
	r.checkOpens()
	r.checkWaiting()
	r.checkSyncs()
	r.checkSockets()
	for _, c := range told.Children {
		r.checkChild(&c)
	}
	p := processOf(r.tl, told.Cgroup.PID)
	if (p == nil || p.Cgroup != told.Cgroup.Path) && !r.noBTF() && !r.excuse() {
		r.Errorf("process %d went to cgroup %s, in the trace it is %+v", told.Cgroup.PID, told.Cgroup.Path, p)
	}
}

// checkWaiting: a return probe sees only few calls at a time (docs/kernels.md).
func (r *recording) checkWaiting() {
	waited, recorded := r.told.Steps.Waiting, r.seen.waiting
	slices.Sort(waited)
	slices.Sort(recorded)
	if strings.HasPrefix(r.guest.via(r.mode)["open"], "kretprobe") {
		return
	}
	if diff := cmp.Diff(excused(r, waited, recorded), recorded); diff != "" {
		r.Errorf("processes whose open had to wait (-made +recorded):\n%s", diff)
	}
}

// checkOpens compares those of which the name's last part is one of the steps'.
func (r *recording) checkOpens() {
	var done, recorded []openStep
	names := map[string]bool{}
	for _, o := range r.told.Steps.Opens {
		names[path.Base(o.Path)], names[path.Base(o.Name)] = true, true
		if r.noBTF() {
			o.Path = o.Name
		}
		done = append(done, openStep{Path: o.Path, Result: o.Result})
	}
	for _, o := range r.seen.opens {
		if names[path.Base(o.Path)] {
			recorded = append(recorded, openStep{Path: o.Path, Result: o.Result})
		}
	}
	if diff := cmp.Diff(excused(r, done, recorded), recorded); diff != "" {
		r.Errorf("opens (-made +recorded):\n%s", diff)
	}
}

func (r *recording) checkSyncs() {
	done := slices.Clone(r.told.Steps.Syncs)
	for i := range done {
		if r.noBTF() {
			done[i].Path = ""
		}
	}
	if diff := cmp.Diff(excused(r, done, r.seen.syncs), r.seen.syncs); diff != "" {
		r.Errorf("syncs (-made +recorded):\n%s", diff)
	}
}

func (r *recording) checkSockets() {
	var recorded []socketStep
	for _, e := range r.seen.sockets {
		recorded = append(recorded, socketStep{e.Call.String(), e.Result})
		if e.Call != event.SocketListen && e.Address.Path != r.told.Steps.Socket {
			r.Errorf("%s of %s, expected %s", e.Call, e.Address, r.told.Steps.Socket)
		}
	}
	if diff := cmp.Diff(excused(r, r.told.Steps.Sockets, recorded), recorded); diff != "" {
		r.Errorf("calls on sockets (-made +recorded):\n%s", diff)
	}
}

// checkChild expects a process once, with all that its parent knows of it.
func (r *recording) checkChild(c *child) {
	p := processOf(r.tl, c.PID)
	if p == nil || len(p.Execs) != 1 || !p.Ended || p.Parent == nil || !slices.Equal(p.Argv, c.Argv) {
		if !r.excuse() {
			r.Errorf("process %d: %+v; expected it with a parent, one exec of %q and an end", c.PID, p, c.Argv)
		}
		return
	}
	if r.noBTF() {
		return
	}
	if p.Status == nil && p.Counters == nil && r.excuse() { // one event has both
		return
	}
	if p.Status == nil || *p.Status != c.Status {
		r.Errorf("process %d ended with status %v, expected %d", c.PID, p.Status, c.Status)
	}
	if n := p.Counters; n == nil || n.MinorFaults != c.Minor || n.MajorFaults != c.Major {
		r.Errorf("process %d: counters %+v, rusage has %d minor and %d major faults", c.PID, n, c.Minor, c.Major)
	}
}

// checkSwitches compares the switches of the whole machine with the kernel's own count. It was read at some
// time between two moments, so the trace gives bounds.
func (r *recording) checkSwitches() {
	begin, end := r.told.Steps.Switches[0], r.told.Steps.Switches[1]
	counted := end.Count - begin.Count
	var least, most, lost uint64
	for e, err := range r.file.Events() {
		if err != nil {
			r.Fatal(err)
		}
		if _, ok := e.(*event.Switch); !ok {
			continue
		}
		if at := e.Head().Time; at >= begin.From && at <= end.To {
			most++
			if at >= begin.To && at <= end.From {
				least++
			}
		}
	}
	for _, l := range r.tl.Losses {
		if l.Probe == event.ProbeSched.String() {
			lost += l.Count
		}
	}
	r.Logf("%d to %d switches in the trace, the kernel counted %d", least, most, counted)
	// Each CPU counts a switch a moment before it tells of it, and reads its clock a moment before or after.
	if slack := counted / 200; least > counted+slack || most+lost+slack < counted {
		r.Errorf("%d to %d switches in the trace and %d events lost, the kernel counted %d", least, most, lost, counted)
	}
}

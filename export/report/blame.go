package report

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// A Start is a unit's start until it was ready. For systemd a Type=simple service is up as soon as it was
// forked; here the imports that it begins with count too, whatever its type.
type Start struct {
	Unit   *timeline.Unit
	Begin  uint64 // systemd began to start it; without systemd's word, its first process began
	Ready  uint64 // it was up, and its imports had ended
	Loaded uint64 // when its imports had ended; 0 for one without Python
}

// goesOn is how soon after it was up a service's next program must begin to be a part of its start.
const goesOn = 5e9

// startsOf returns the starts in a recording, the longest first.
func startsOf(tl *timeline.Timeline, interpreters []*python.Interpreter) (list []*Start) {
	byUnit := map[*timeline.Unit][]*python.Interpreter{}
	for _, in := range interpreters {
		if u := in.Process.Unit; u != nil {
			byUnit[u] = append(byUnit[u], in)
		}
	}
	for _, u := range tl.Units {
		s := &Start{Unit: u}
		s.Begin, s.Ready = startOf(u)
		if s.Begin == 0 {
			continue
		}
		programs := byUnit[u]
		sort.SliceStable(programs, func(i, j int) bool { return programs[i].Start < programs[j].Start })
		for _, in := range programs {
			if in.Start <= max(s.Begin, s.Ready)+goesOn && in.ImportsEnd > s.Begin {
				s.Loaded = max(s.Loaded, in.ImportsEnd)
				s.Ready = max(s.Ready, s.Loaded)
			}
		}
		if s.Ready > s.Begin {
			list = append(list, s)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].took() > list[j].took() })
	return list
}

func (s *Start) took() uint64 { return s.Ready - s.Begin }

// startOf returns when a unit began to start and when systemd took it for up; 0 for what is not known.
func startOf(u *timeline.Unit) (begin, up uint64) {
	if a := u.Systemd; a != nil && a.Activating != 0 {
		return a.Activating, a.Done()
	}
	if len(u.Processes) == 0 || u.Processes[0].Existed || !u.Processes[0].StartKnown {
		return 0, 0
	}
	begin = u.Processes[0].Start
	if a := u.Systemd; a != nil && a.Done() > begin {
		up = a.Done()
	}
	return begin, up
}

// blame writes the units by how long their start took.
func (t *text) blame() {
	list := t.r.Starts
	if len(list) == 0 {
		return
	}
	n := t.rows(len(list))
	t.line("Units by the time until they were ready (%d of %d)", n, len(list))
	var stages []*stage
	for _, s := range list[:n] {
		st := t.r.stageOf(s.Unit, s.Begin, s.Ready)
		if a := s.Unit.Systemd; s.Loaded != 0 && (a == nil || s.Loaded > a.Done()) {
			st.about = "up before that, but it still imported"
		}
		stages = append(stages, st)
	}
	t.stages(stages)
}

// reserved is how many lines of the short form the table of starts must have: that of a boot is not complete
// without it.
func (t *text) reserved() int {
	if t.top != DefaultTop || !t.r.isBoot() {
		return 0
	}
	return 2 + t.rows(len(t.r.Starts))
}

// startTime is what the table of starts is about. A boot's report always has it.
func (r *Report) startTime() uint64 {
	switch {
	case r.isBoot():
		return ^uint64(0)
	case len(r.Starts) > 0:
		return r.Starts[0].took()
	}
	return 0
}

// isBoot tells whether systemd has told of the starts of units.
func (r *Report) isBoot() bool {
	for _, s := range r.Starts {
		if s.Unit.Systemd != nil {
			return true
		}
	}
	return false
}

// chainTime is how long the chain took.
func (r *Report) chainTime() (sum uint64) {
	links, _ := r.Goal()
	for _, l := range links {
		sum += l.Before + l.To - l.From
	}
	return sum
}

// initcalls writes what the kernel called at its start, if it logged that.
func (t *text) initcalls() {
	list := t.r.longInitcalls()
	if len(list) == 0 {
		return
	}
	n := t.rows(len(list))
	t.line("Kernel's initcalls by time (%d of %d)", n, len(list))
	t.line("%9s %9s  %s", "begin", "took", "function")
	for _, c := range list[:n] {
		t.line("%9s %9s  %s", seconds(c.Start), seconds(c.End-c.Start), printable(c.Name))
	}
}

// longInitcalls are the initcalls, the longest first.
func (r *Report) longInitcalls() []timeline.Initcall {
	list := r.Initcalls()
	sort.SliceStable(list, func(i, j int) bool { return list[i].End-list[i].Start > list[j].End-list[j].Start })
	return list
}

func (r *Report) initcallTime() (sum uint64) {
	for _, c := range r.Initcalls() {
		sum += c.End - c.Start
	}
	return sum
}

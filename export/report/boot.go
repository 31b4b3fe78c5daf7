package report

import (
	"fmt"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// screenMilestones is how many milestones the short form has, the last ones.
const screenMilestones = 3

// boot says how long the parts of the boot took and when the milestones were reached.
func (t *text) boot() {
	var parts []string
	total := uint64(0)
	for _, p := range t.r.Phases() {
		if !p.Ended {
			parts = append(parts, p.Name+" not finished")
			continue
		}
		total += uint64(p.End - p.Start)
		parts = append(parts, p.Name+" "+seconds(uint64(p.End-p.Start)))
	}
	if len(parts) > 0 {
		t.paragraph(fmt.Sprintf("Boot: %s, in all %s.", strings.Join(parts, ", "), seconds(total)), 2)
	}
	for _, s := range t.r.ClockSteps() {
		t.line("The wall clock was stepped by %s at %s.", signedSeconds(s.By), seconds(s.Time))
	}
	t.milestones()
	t.budget()
}

func (t *text) milestones() {
	list := t.r.Milestones
	if t.top == DefaultTop && len(list) > screenMilestones {
		list = list[len(list)-screenMilestones:]
	}
	if len(list)+len(t.r.Missed) == 0 {
		return
	}
	t.line("Milestones (%d of %d), from the kernel's start", len(list), len(t.r.Milestones))
	for _, m := range list {
		t.line("%12s  %s (%s)", seconds(m.Time), printable(m.Name), printable(m.Source))
	}
	for _, m := range t.r.Missed {
		t.line("%12s  %s (%s)", "not reached", printable(m.Name), printable(m.Spec))
	}
}

func signedSeconds(ns int64) string {
	if ns < 0 {
		return "-" + seconds(uint64(-ns))
	}
	return "+" + seconds(uint64(ns))
}

// A stage is a stretch of a unit's start with what went on in it.
type stage struct {
	*timeline.Unit
	from, to  uint64
	about     string // "" for the unit's start itself
	did       timeline.Did
	seen      bool // something is known of its processes
	idle      float64
	idleKnown bool
}

// stageOf looks at what a unit did in a stretch of time, and the machine.
func (r *Report) stageOf(u *timeline.Unit, from, to uint64) *stage {
	s := &stage{Unit: u, from: from, to: to}
	threads := u.Threads()
	s.did = r.Activity.Did(threads, from, to)
	s.seen = r.Can.Sched && s.did.Times.Sum() > 0
	s.idle, s.idleKnown = r.Idle(from, to)
	return s
}

func (s *stage) took() uint64 { return s.to - min(s.from, s.to) }

// asleep says where it waited, if that was most of the time.
func (r *Report) asleep(s *stage) string {
	if !s.seen || s.did.Waited < s.took()/2 || s.did.Waited == 0 || s.did.Syscall == event.NoSyscall {
		return ""
	}
	return fmt.Sprintf("%s %s in %s", stateNames[s.did.State], seconds(s.did.Waited),
		syscalls.Name(r.Header.Arch, s.did.Compat, s.did.Syscall))
}

// worthTelling is a gap in a chain that has a row of its own.
const worthTelling = 50e6

// chain returns the critical chain's stages.
func (r *Report) chain() (list []*stage) {
	links, _ := r.Goal()
	for _, l := range links {
		if l.Before >= worthTelling {
			s := r.stageOf(l.Unit, l.From-l.Before, l.From)
			s.about = "not started yet"
			if by := l.Unit.Systemd.List("TriggeredBy"); len(by) > 0 {
				s.about += ", triggered by " + strings.Join(by, ", ")
			}
			list = append(list, s)
		}
		s := r.stageOf(l.Unit, l.From, l.To)
		switch {
		case l.Own:
			s.about = "up, at work"
		case l.Unit.Systemd.Done() == 0:
			s.about = "still starting"
		}
		list = append(list, s)
	}
	return list
}

// criticalChain writes what the milestone, or the boot's target, had to wait for, one after the other.
func (t *text) criticalChain() {
	list := t.r.chain()
	if len(list) == 0 {
		return
	}
	_, goal := t.r.Goal()
	shown := longest(list, t.rows(len(list)))
	t.line("Critical chain to %s (the longest %d of %d, in order)", printable(goal), len(shown), len(list))
	t.stages(shown)
}

// longest keeps the n stages that took longest, in their order.
func longest(list []*stage, n int) (kept []*stage) {
	for i, s := range list {
		longer := 0
		for j, other := range list {
			if other.took() > s.took() || other.took() == s.took() && j < i {
				longer++
			}
		}
		if longer < n {
			kept = append(kept, s)
		}
	}
	return kept
}

// stages writes stages as a table.
func (t *text) stages(list []*stage) {
	t.line("%9s %9s %9s %9s %9s %5s  %s", "begin", "took", "CPU", "CPU wait", "I/O", "idle", "unit")
	for _, s := range list {
		d, idle := &s.did.Times, "-"
		if s.idleKnown {
			idle = fmt.Sprintf("%.0f %%", 100*s.idle)
		}
		at := fmt.Sprintf("%9s %9s %9s %9s %9s %5s  ", seconds(s.from), seconds(s.took()), secondsOr(d[timeline.Running], s.seen),
			secondsOr(d[timeline.Runnable], s.seen), secondsOr(d[timeline.IOWait]+d[timeline.Blocked], s.seen), idle)
		t.line("%s%s", at, printable(s.Name))
		var more []string
		for _, about := range []string{printable(s.about), t.r.asleep(s)} {
			if about != "" {
				more = append(more, about)
			}
		}
		if len(more) > 0 && t.top != DefaultTop {
			t.line("%19s %s", "", strings.Join(more, "; "))
		}
	}
}

package export

import (
	"fmt"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// A bootTrack is a track about the boot that stands for no task. Its spans don't overlap and are in order.
type bootTrack struct {
	name, help string
	spans      []bootMark
	instants   []bootMark
}

// A bootMark is a span, or an instant, with what else is known of it.
type bootMark struct {
	name       string
	start, end uint64
	facts      [][2]string
}

// bootTracks are what systemd and the kernel's log say of the boot, on tracks of their own. Most of it is
// from before the recording.
func bootTracks(tl *timeline.Timeline) (list []bootTrack) {
	if t := phaseTrack(tl); len(t.spans) > 0 {
		list = append(list, t)
	}
	if t := clockTrack(tl); len(t.instants) > 0 {
		list = append(list, t)
	}
	if t := kernelLogTrack(tl); len(t.instants) > 0 {
		list = append(list, t)
	}
	list = append(list, lanes("Initcalls", "Functions that the kernel called at its start (initcall_debug).", initcallMarks(tl))...)
	return append(list, lanes("Unit starts", "From when systemd began to start a unit to when it was up.", unitMarks(tl))...)
}

func phaseTrack(tl *timeline.Timeline) bootTrack {
	t := bootTrack{name: "Boot", help: "The phases of the boot, from the kernel's start."}
	for _, p := range tl.Phases() {
		if p.Start < 0 { // before the clock began
			continue
		}
		end := tl.End
		if p.Ended {
			end = uint64(p.End)
		}
		t.spans = append(t.spans, bootMark{name: p.Name, start: uint64(p.Start), end: max(end, uint64(p.Start))})
	}
	return t
}

func clockTrack(tl *timeline.Timeline) bootTrack {
	t := bootTrack{name: "Wall clock", help: "Where the wall clock was set. Times here don't depend on it."}
	for _, s := range tl.ClockSteps() {
		t.instants = append(t.instants, bootMark{name: fmt.Sprintf("stepped by %+.3f s", float64(s.By)/1e9), start: s.Time})
	}
	return t
}

// kernelLogTrack has the lines of the kernel's log, but not those that are spans.
func kernelLogTrack(tl *timeline.Timeline) bootTrack {
	t := bootTrack{name: "Kernel log", help: "Lines of the kernel's log."}
	for _, line := range tl.KernelLog {
		if line.IsInitcall() {
			continue
		}
		t.instants = append(t.instants, bootMark{name: strings.TrimSpace(line.Text), start: line.Time,
			facts: [][2]string{{"level", levelNames[line.Priority&7]}}})
	}
	return t
}

var levelNames = [8]string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}

func initcallMarks(tl *timeline.Timeline) (list []bootMark) {
	for _, c := range tl.Initcalls() {
		list = append(list, bootMark{c.Name, c.Start, c.End, [][2]string{{"result", fmt.Sprint(c.Result)}}})
	}
	return list
}

func unitMarks(tl *timeline.Timeline) (list []bootMark) {
	for _, u := range tl.Units {
		a := u.Systemd
		if a == nil || a.Activating == 0 {
			continue
		}
		end := a.Done()
		if end == 0 {
			end = max(a.Activating, tl.End)
		}
		m := bootMark{name: u.Name, start: a.Activating, end: end}
		for _, property := range []string{"Type", "ActiveState", "Result", "WantedBy", "RequiredBy", "TriggeredBy", "EnabledBy"} {
			if value := a.Property(property); value != "" {
				m.facts = append(m.facts, [2]string{property, value})
			}
		}
		list = append(list, m)
	}
	return list
}

// lanes spreads spans over as few tracks as needed so that they don't overlap.
func lanes(name, help string, marks []bootMark) (list []bootTrack) {
	sort.SliceStable(marks, func(i, j int) bool { return marks[i].start < marks[j].start })
	for _, m := range marks {
		free := -1
		for i := range list {
			if last := list[i].spans[len(list[i].spans)-1]; last.end <= m.start {
				free = i
				break
			}
		}
		if free < 0 {
			free = len(list)
			title := name
			if free > 0 {
				title = fmt.Sprintf("%s %d", name, free+1)
			}
			list = append(list, bootTrack{name: title, help: help})
		}
		list[free].spans = append(list[free].spans, m)
	}
	return list
}

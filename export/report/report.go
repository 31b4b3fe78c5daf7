// Package report is what people look at first: where the time went and what to fix, as text for a
// terminal of 80 columns and as JSON (docs/json.md). It must not judge: what is worth reporting is
// found by tracer/findings, what happened is in tracer/timeline.
package report

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/findings"
	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Report is a recording with everything that was found in it.
type Report struct {
	*timeline.Timeline
	Python   []*python.FileTime // longest first
	Findings []findings.Finding // costliest first
	Starts   []*Start           // of units, longest first
	// Missed are milestones that were asked for and were not reached.
	Missed   []*milestone.Milestone
	Spending []Spending // of the budgets that were asked for
	speeds   *speeds
}

// Build reads a trace and looks for everything, and for milestones beside those that are in it.
func Build(src tracefile.Source, milestones ...*milestone.Milestone) (*Report, error) {
	seeker, err := newSeeker(milestones)
	if err != nil {
		return nil, err
	}
	modules := python.NewCollector()
	detectors, speeds := findings.New(src.Header().Start), newSpeeds()
	tl, err := timeline.Build(src, append(detectors.Sinks(), modules, seeker, speeds)...)
	if err != nil {
		return nil, err
	}
	missed, err := seeker.addTo(tl)
	if err != nil {
		return nil, err
	}
	interpreters := modules.Interpreters()
	return &Report{
		Timeline: tl,
		Python:   python.Flat(interpreters),
		Findings: detectors.Find(&findings.Recording{Timeline: tl, Interpreters: interpreters}),
		Starts:   startsOf(tl, interpreters),
		Missed:   missed,
		speeds:   speeds,
	}, nil
}

// cpuOf returns how long a process was on a CPU, and whether that is known. Switches say it exactly, if
// none was lost; else the kernel's own count is better; a count of what was seen is at least true.
func (r *Report) cpuOf(p *timeline.Process) (ns uint64, known bool) {
	switch {
	case r.Can.Sched && p.MaybeRan == 0:
		return p.Times[timeline.Running], true
	case p.Counters != nil:
		return p.Counters.CPU, true
	}
	return p.Times[timeline.Running], r.Can.Sched
}

// waitOf returns how long the threads of a process could not go on although they had work.
func waitOf(p *timeline.Process) uint64 {
	return p.Times[timeline.Runnable] + p.Times[timeline.IOWait] + p.Times[timeline.Blocked]
}

// byTime returns the processes that have some of a time, those with the most first.
func (r *Report) byTime(time func(*timeline.Process) uint64) []*timeline.Process {
	var list []*timeline.Process
	for _, p := range r.Processes {
		if time(p) > 0 {
			list = append(list, p)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return time(list[i]) > time(list[j]) })
	return list
}

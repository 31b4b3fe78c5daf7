package export

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// processesInOrder returns the processes as viewers should show them: those of a unit together, those of
// the units that ran longest first, and the kernel's last.
func processesInOrder(tl *timeline.Timeline) []*timeline.Process {
	unitRank := map[*timeline.Unit]int{}
	for i, u := range unitsByTime(tl) {
		unitRank[u] = i
	}
	rank := func(p *timeline.Process) int {
		switch {
		case p.Kernel:
			return len(unitRank) + 1
		case p.Unit == nil:
			return len(unitRank)
		}
		return unitRank[p.Unit]
	}
	list := append([]*timeline.Process(nil), tl.Processes...)
	sort.SliceStable(list, func(i, j int) bool {
		a, b := rank(list[i]), rank(list[j])
		return a < b || a == b && list[i].Times[timeline.Running] > list[j].Times[timeline.Running]
	})
	return list
}

// unitsByTime returns the units, those that ran longest first.
func unitsByTime(tl *timeline.Timeline) []*timeline.Unit {
	list := append([]*timeline.Unit(nil), tl.Units...)
	sort.SliceStable(list, func(i, j int) bool {
		return list[i].Times[timeline.Running] > list[j].Times[timeline.Running]
	})
	return list
}

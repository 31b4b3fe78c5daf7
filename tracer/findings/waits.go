package findings

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// stretch is a stretch of time.
type stretch struct{ start, end uint64 }

// union merges stretches that overlap or touch; the result is in order.
func union(list []stretch) []stretch {
	sorted := append([]stretch{}, list...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].start < sorted[j].start })
	merged := sorted[:0]
	for _, s := range sorted {
		if n := len(merged); n > 0 && s.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

func length(list []stretch) (sum uint64) {
	for _, s := range list {
		sum += s.end - s.start
	}
	return sum
}

// overlap is how much two lists, each in order and without overlaps of its own, have in common.
func overlap(a, b []stretch) (sum uint64) {
	for len(a) > 0 && len(b) > 0 {
		if start, end := max(a[0].start, b[0].start), min(a[0].end, b[0].end); start < end {
			sum += end - start
		}
		if a[0].end < b[0].end {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return sum
}

// waits collects when threads waited for something.
type waits map[*timeline.Thread][]stretch

func (w waits) add(iv *timeline.Interval) {
	list := w[iv.Thread]
	if n := len(list); n > 0 && iv.Start <= list[n-1].end { // goes on
		list[n-1].end = max(list[n-1].end, iv.End)
		return
	}
	w[iv.Thread] = append(list, stretch{iv.Start, iv.End})
}

// A program is the processes of one name in one unit.
type program struct{ comm, unit string }

func programOf(p *timeline.Process) program {
	k := program{comm: p.Comm()}
	if p.Unit != nil {
		k.unit = p.Unit.Name
	}
	return k
}

// waiter is a program and when any of its threads waited.
type waiter struct {
	program
	processes map[*timeline.Process]bool
	when      []stretch // in order, without overlaps
}

func (w *waiter) time() uint64 { return length(w.when) }

// pid returns the id of its only process, 0 if there are more.
func (w *waiter) pid() uint32 {
	if len(w.processes) == 1 {
		for p := range w.processes {
			return p.PID
		}
	}
	return 0
}

func (w *waiter) name() string {
	who := fmt.Sprintf("%d processes", len(w.processes))
	if pid := w.pid(); pid != 0 {
		who = fmt.Sprintf("pid %d", pid)
	}
	return nameWith(w.program, who)
}

func nameWith(p program, who string) string {
	name := p.comm
	if name == "" {
		name = "unnamed"
	}
	if p.unit != "" {
		who += ", " + p.unit
	}
	return name + " (" + who + ")"
}

// processName says which process it is.
func processName(p *timeline.Process) string {
	return nameWith(programOf(p), fmt.Sprintf("pid %d", p.PID))
}

// byProgram groups the waits by program, the longest first. The recorder's own are left out, and those of
// the kernel's threads: they wait on behalf of others.
func (w waits) byProgram() []*waiter {
	byKey := map[program]*waiter{}
	for th, when := range w {
		p := th.Process
		if p.Recorder || p.Kernel {
			continue
		}
		k := programOf(p)
		if byKey[k] == nil {
			byKey[k] = &waiter{program: k, processes: map[*timeline.Process]bool{}}
		}
		byKey[k].processes[p] = true
		byKey[k].when = append(byKey[k].when, when...)
	}
	var list []*waiter
	for _, x := range byKey {
		x.when = union(x.when)
		list = append(list, x)
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := list[i].time(), list[j].time(); a != b {
			return a > b
		}
		return list[i].name() < list[j].name()
	})
	return list
}

// times says how often.
func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

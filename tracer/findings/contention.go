package findings

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// Contention is when programs wait for a CPU about as long as they run, or longer. The thresholds:
const (
	// Two busy programs on each CPU wait exactly as long as they run. The tolerance is for the few
	// percent by which real measurements of that scatter.
	waitToRun = 0.95
	// A part of a stretch may have half of that: load is never even.
	waitToRunWithin = waitToRun / 2
	// With less than half a CPU in use, what waits is short bursts that happened to coincide.
	busyWithin = 0.5
	// Shorter stretches are what every start of a program makes; nobody notices them.
	minStretch = 500e6
	// A stretch goes on over a lull of this many slots.
	lull = 2
	// One process alone, with more threads than there are CPUs, is its own business: others must have at
	// least this share of the waiting.
	minOthers = 0.1
	// Findings of less are noise on any machine.
	minCost = 100e6
	// So many programs are named.
	named = 5
)

// contention looks for stretches in which programs compete for CPUs.
type contention struct {
	timeline.Discard
	slots
}

func newContention(start uint64) *contention { return &contention{slots: newSlots(start)} }

// Interval implements timeline.IntervalSink.
func (c *contention) Interval(iv *timeline.Interval) {
	switch iv.State {
	case timeline.Running:
		c.add(iv.Thread, iv.Start, iv.End, running)
	case timeline.Runnable:
		c.add(iv.Thread, iv.Start, iv.End, waiting)
	default:
	}
}

// Find implements Detector.
func (c *contention) Find(r *Recording) []Finding {
	total := c.total(r.Threads, func(th *timeline.Thread) bool { return th.Process.Recorder })
	width := float64(c.width)
	contended := func(s share) bool {
		ran, waited := float64(s.time[running]), float64(s.time[waiting])
		return ran >= busyWithin*width && waited >= waitToRunWithin*ran
	}
	var found []Finding
	for i := 0; i < len(total); i++ {
		if !contended(total[i]) {
			continue
		}
		last := i
		for j := i + 1; j < len(total) && j <= last+1+lull; j++ {
			if contended(total[j]) {
				last = j
			}
		}
		if f, ok := c.stretch(r, i, last+1); ok {
			found = append(found, f)
		}
		i = last
	}
	return found
}

// competitor is one program in a stretch: processes of one name in one unit.
type competitor struct {
	comm, unit string
	waited     map[*timeline.Process]uint64
	time       [2]uint64
}

// stretch judges the slots from one to before another.
func (c *contention) stretch(r *Recording, from, to int) (Finding, bool) {
	start := c.start + uint64(from)*c.width
	length := min(uint64(to-from)*c.width, r.End-min(start, r.End))
	list, longest := c.competitors(r, from, to)
	var sum [2]uint64
	most := uint64(0) // that a single process waited
	for _, p := range list {
		sum[running] += p.time[running]
		sum[waiting] += p.time[waiting]
		for _, ns := range p.waited {
			most = max(most, ns)
		}
	}
	// No thread can be done sooner than it runs, and none gains more than all have waited.
	cost := min(length-min(longest, length), sum[waiting])
	if length < minStretch || cost < minCost || float64(sum[waiting]) < waitToRun*float64(sum[running]) ||
		float64(sum[waiting]-most) < minOthers*float64(sum[waiting]) {
		return Finding{}, false
	}
	f := Finding{
		ID:    "cpu-contention",
		Title: "programs compete for the CPU",
		Cost:  cost,
		Evidence: []string{fmt.Sprintf("from %s to %s (%s) programs waited %s for a CPU while they ran %s on %s",
			seconds(start), seconds(start+length), seconds(length), seconds(sum[waiting]), seconds(sum[running]),
			cpus(r))},
		Remedy: "start fewer of them at once (After= or a later timer for what can wait), " +
			"give the one that matters a higher CPUWeight=, or make them do less",
	}
	for i, p := range list {
		if i == named {
			f.Evidence = append(f.Evidence, fmt.Sprintf("%d more programs", len(list)-named))
			break
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("%s waited %s and ran %s",
			p.name(), seconds(p.time[waiting]), seconds(p.time[running])))
	}
	return f, true
}

// competitors returns who waited or ran in a stretch, the longest wait first, and the longest that a
// single thread ran.
func (c *contention) competitors(r *Recording, from, to int) (list []*competitor, longest uint64) {
	type key struct{ comm, unit string }
	byName := map[key]*competitor{}
	for _, th := range r.Threads {
		time := c.between(th.Index, from, to)
		if th.Process.Recorder || time == [2]uint64{} {
			continue
		}
		longest = max(longest, time[running])
		k := key{comm: th.Process.Comm()}
		if th.Process.Unit != nil {
			k.unit = th.Process.Unit.Name
		}
		p := byName[k]
		if p == nil {
			p = &competitor{comm: k.comm, unit: k.unit, waited: map[*timeline.Process]uint64{}}
			byName[k] = p
			list = append(list, p)
		}
		p.waited[th.Process] += time[waiting]
		p.time[running] += time[running]
		p.time[waiting] += time[waiting]
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].time[waiting] > list[j].time[waiting] })
	return list, longest
}

// name says which program it is.
func (p *competitor) name() string {
	name := p.comm
	if name == "" {
		name = "unnamed"
	}
	who := fmt.Sprintf("%d processes", len(p.waited))
	if len(p.waited) == 1 {
		for process := range p.waited {
			who = fmt.Sprintf("pid %d", process.PID)
		}
	}
	if p.unit != "" {
		who += ", " + p.unit
	}
	return name + " (" + who + ")"
}

// cpus says how many CPUs there were.
func cpus(r *Recording) string {
	n := len(r.Header.Online)
	if n == 0 {
		n = r.Header.CPUs
	}
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%d CPUs", n)
}

func seconds(ns uint64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

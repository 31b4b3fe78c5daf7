// Package idle shows what keeps an idle machine busy: who uses the CPU, who wakes and why, what the
// frequency governor does; as text for a terminal of 80 columns and as JSON (docs/json.md). It must not
// judge: what is worth fixing is found by tracer/findings.
package idle

import (
	"sort"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/findings"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Idle is a recording of an idle machine.
type Idle struct {
	*timeline.Timeline
	Findings []findings.Finding // costliest first
	Tasks    []*Task            // who ran or woke, but for the recorder; most CPU time first
	Recorder Task               // what recording did itself: it is in no other number
	Programs uint64             // run time of its BPF programs, in whatever they interrupted
	Busy     uint64             // CPU time of all others

	wakeups *timeline.Wakeups
}

// Task is a thread, or all threads of a unit together.
type Task struct {
	Thread      *timeline.Thread // nil for a unit
	Unit        string           // "" for none
	Threads     int
	CPU         uint64
	Wakeups     uint64
	IdleExits   uint64   // how often it ended a CPU's idle time
	WokenBy     []Source // most often first
	MajorFaults uint64
	FaultsKnown bool
	Reread      uint64 // bytes that reclaim had evicted, and that had to be read again
	sources     map[string]*Source
}

// Source is what wakes a task.
type Source struct {
	By      string
	Count   uint64
	Call    string // in which the task slept mostly, "" if not known
	Period  uint64 // nanoseconds between two wake-ups, 0 if they are too few
	Regular bool
	calls   uint64 // how often in that call
}

// Build reads a trace that was recorded with idle.
func Build(src tracefile.Source) (*Idle, error) {
	wakeups := &timeline.Wakeups{}
	detectors := findings.New(src.Header().Start)
	tl, err := timeline.Build(src, append(detectors.Sinks(), wakeups)...)
	if err != nil {
		return nil, err
	}
	i := &Idle{Timeline: tl, wakeups: wakeups, Recorder: Task{FaultsKnown: true}}
	i.Findings = detectors.Find(&findings.Recording{Timeline: tl, Wakeups: wakeups})
	i.addTasks()
	i.addUp()
	return i, nil
}

func (i *Idle) addTasks() {
	for _, th := range i.Threads {
		t := i.taskOf(th)
		switch {
		case th.Process.Recorder:
			i.Recorder.add(t)
		case t.CPU > 0 || t.Wakeups > 0 || t.MajorFaults > 0:
			i.Tasks = append(i.Tasks, t)
		}
	}
	i.Recorder.finish()
	sortTasks(i.Tasks)
}

func sortTasks(list []*Task) {
	sort.SliceStable(list, func(a, b int) bool {
		x, y := list[a], list[b]
		return x.CPU > y.CPU || x.CPU == y.CPU && x.Wakeups > y.Wakeups
	})
}

func (i *Idle) taskOf(th *timeline.Thread) *Task {
	t := &Task{Thread: th, Threads: 1, CPU: i.cpuOf(th), Wakeups: th.Wakeups, IdleExits: th.IdleExits}
	if u := th.Process.Unit; u != nil {
		t.Unit = u.Name
	}
	if c := th.Counters; c != nil {
		t.MajorFaults, t.FaultsKnown = c.MajorFaults, true
	}
	t.Reread = th.Reads.Again
	for _, s := range i.wakeups.Of(th) {
		from := Source{By: i.SourceName(s), Count: s.Count, calls: s.Count, Call: i.callOf(s)}
		from.Period, from.Regular = s.Rhythm()
		t.wokenBy(from)
	}
	t.finish()
	return t
}

// cpuOf returns how long a thread ran. Switches say it exactly if none was lost.
func (i *Idle) cpuOf(th *timeline.Thread) uint64 {
	if c := th.Counters; c != nil && (th.MaybeRan > 0 || !i.Can.Sched) {
		return c.CPU
	}
	return th.Times[timeline.Running]
}

// wokenBy adds a source, or makes it part of one of the same name: then the more frequent one tells the
// rhythm.
func (t *Task) wokenBy(s Source) {
	if t.sources == nil {
		t.sources = map[string]*Source{}
	}
	old := t.sources[s.By]
	if old == nil {
		t.sources[s.By] = &s
		return
	}
	count := old.Count + s.Count
	if s.calls > old.calls {
		*old = s
	}
	old.Count = count
}

// add makes another task part of this one.
func (t *Task) add(other *Task) {
	t.Threads += other.Threads
	t.CPU += other.CPU
	t.Wakeups += other.Wakeups
	t.IdleExits += other.IdleExits
	t.MajorFaults += other.MajorFaults
	t.Reread += other.Reread
	t.FaultsKnown = t.FaultsKnown && other.FaultsKnown
	for _, s := range other.WokenBy {
		t.wokenBy(s)
	}
}

// finish sorts the sources.
func (t *Task) finish() {
	t.WokenBy = t.WokenBy[:0]
	for _, s := range t.sources {
		t.WokenBy = append(t.WokenBy, *s)
	}
	sort.Slice(t.WokenBy, func(a, b int) bool {
		x, y := t.WokenBy[a], t.WokenBy[b]
		return x.Count > y.Count || x.Count == y.Count && x.By < y.By
	})
}

// addUp makes the totals, without the recorder.
func (i *Idle) addUp() {
	for _, c := range i.CPUs {
		i.Busy += c.Busy
	}
	if i.Trailer != nil {
		i.Programs = i.Trailer.Self.BPF
	}
	i.Busy -= min(i.Recorder.CPU+i.Programs, i.Busy)
}

// wakeupsOfAll counts all wake-ups but the recorder's.
func (i *Idle) wakeupsOfAll() (sum uint64) {
	for _, t := range i.Tasks {
		sum += t.Wakeups
	}
	return sum
}

// Units groups the tasks by unit; kernel threads, and what is in no unit, are groups of their own.
func (i *Idle) Units() []*Task {
	groups := map[string]*Task{}
	var list []*Task
	for _, t := range i.Tasks {
		name := t.Unit
		if t.Thread.Process.Kernel {
			name = kernelThreads
		}
		g := groups[name]
		if g == nil {
			g = &Task{Unit: name, FaultsKnown: true}
			groups[name] = g
			list = append(list, g)
		}
		g.add(t)
	}
	for _, g := range list {
		g.finish()
	}
	sortTasks(list)
	return list
}

// What has no unit.
const (
	kernelThreads = "(kernel threads)"
	noUnit        = "(no unit)"
)

// cpus is how many CPUs there were.
func (i *Idle) cpus() int {
	if n := len(i.Header.Online); n > 0 {
		return n
	}
	return max(i.Header.CPUs, 1)
}

// percent is a time as a share of all CPUs' time.
func (i *Idle) percent(ns uint64) float64 {
	return 100 * float64(ns) / float64(max(i.CPUTime(i.Start, i.End), 1))
}

func (i *Idle) perSecond(count uint64) float64 {
	return float64(count) * 1e9 / float64(max(i.Duration(), 1))
}

// threadName is a thread's name without its id, which has a column of its own.
func threadName(th *timeline.Thread) string {
	if th.Process != nil && th.Process.Kernel {
		return prose.Printable(th.Name())
	}
	return prose.Printable(th.Comm)
}

// name is what a task is called.
func (t *Task) name() string {
	switch {
	case t.Thread != nil && t.Unit != "" && !t.Thread.Process.Kernel:
		return threadName(t.Thread) + " (" + prose.Printable(t.Unit) + ")"
	case t.Thread != nil:
		return threadName(t.Thread)
	case t.Unit == "":
		return noUnit
	}
	return prose.Printable(t.Unit)
}

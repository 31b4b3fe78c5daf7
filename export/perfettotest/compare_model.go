package perfettotest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// events compares what comes from single events of the recording.
func (c *comparison) events() {
	got := c.got
	match(c, "switch", got.Switches, c.switches, func(s *Switch) (uint64, int, *string) { return s.Time, s.CPU, &s.Name })
	wakings := slices.Clone(got.Wakings)
	for i := range wakings { // what the recording doesn't have as such
		wakings[i].TargetCPU, wakings[i].Flags = 0, 0
	}
	match(c, "waking", wakings, c.wakings, func(w *Waking) (uint64, int, *string) { return w.Time, w.CPU, &w.Name })
	match(c, "rename", got.Renames, c.renames, func(r *Rename) (uint64, int, *string) { return r.Time, int(r.Task), &r.Old })
	match(c, "new task", got.NewTasks, c.tasks, func(n *NewTask) (uint64, int, *string) { return n.Time, int(n.Child), &n.Name })
	match(c, "blocked reason", got.Blocked, c.blocked, func(b *Blocked) (uint64, int, *string) { return b.Time, int(b.Task), nil })
	match(c, "frequency", got.Frequencies, c.freqs, func(f *Frequency) (uint64, int, *string) { return f.Time, f.CPU, nil })
	if len(got.Clocks) != len(c.clocks)+1 || !slices.EqualFunc(got.Clocks[1:], c.clocks, maps.Equal) {
		c.differ("clocks: got %v, want %v after the first", got.Clocks, c.clocks)
	}
	if len(got.LostOn) != c.lostOn {
		c.differ("%d bundles after a loss, want %d", len(got.LostOn), c.lostOn)
	}
	same(c, "open", c.moments("open", "path"), c.opens)
	same(c, "fault", c.moments("fault", "address", "ip"), c.faults)
	same(c, "loss", c.moments("loss", "reason", "count"), c.losses)
}

// match compares two lists in order of time; what has the same time is in order of its CPU or task, since
// readers don't care which comes first. A name that the recording doesn't tell may be any.
func match[T comparable](c *comparison, what string, got, want []T, key func(*T) (uint64, int, *string)) {
	inOrder := func(list []T) []T {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b T) int {
			at, ai, _ := key(&a)
			bt, bi, _ := key(&b)
			return cmp.Or(cmp.Compare(at, bt), cmp.Compare(ai, bi))
		})
		return list
	}
	got, want = inOrder(got), inOrder(want)
	for i := range min(len(got), len(want)) {
		_, _, gotName := key(&got[i])
		if _, _, name := key(&want[i]); name != nil && *name == anyName {
			*gotName = anyName
		}
	}
	same(c, what, got, want)
}

// moments returns the instants of a category, in order of time, with some of their arguments.
func (c *comparison) moments(category string, args ...string) (list []moment) {
	for _, e := range c.got.Events {
		if e.Category != category {
			continue
		}
		m := moment{Time: e.Time, TID: c.got.Tracks[e.Track].TID, Name: e.Name}
		var values []string
		for _, k := range args {
			if v, ok := e.Args[k]; ok {
				values = append(values, fmt.Sprint(v))
			}
		}
		m.Args = strings.Join(values, " ")
		if category == "open" { // its name ends in the path's
			verb, file, _ := strings.Cut(e.Name, "open ")
			m.Name = verb + "open "
			if !strings.HasSuffix(m.Args, file) {
				c.differ("%q is the name for an open of %q", e.Name, m.Args)
			}
		}
		list = append(list, m)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time < list[j].Time })
	return list
}

// model compares what is known of processes and threads.
func (c *comparison) model() {
	told := map[int64]bool{}
	for _, n := range c.got.NewTasks {
		told[n.Child] = true
	}
	for _, th := range c.got.Threads {
		told[th.TID] = true
	}
	for _, th := range c.tl.Threads {
		if !told[int64(th.TID)] {
			c.differ("neither a fork nor a process tree tells of thread %d", th.TID)
		}
	}
	ends := map[Free]bool{}
	for _, f := range c.got.Frees {
		ends[f] = true
		if !c.dead[Free{f.Time, 0}] {
			c.differ("task %d is freed at %d ns, when nothing died", f.Task, f.Time)
		}
	}
	var lives, execs int
	for _, p := range c.tl.Processes {
		if p.Ended && c.dead[Free{p.End, 0}] && !ends[Free{p.End, int64(p.PID)}] {
			c.differ("process %d has no end at %d ns", p.PID, p.End)
		}
		if !p.Kernel {
			lives++
			execs += len(p.Execs)
		}
	}
	if n := c.count("process"); n != lives {
		c.differ("%d processes have a life, want %d", n, lives)
	}
	if n := c.count("exec"); n != execs {
		c.differ("%d execs, want %d", n, execs)
	}
}

func (c *comparison) count(category string) (n int) {
	for _, e := range c.got.Events {
		if e.Category == category {
			n++
		}
	}
	return n
}

// nesting follows the slices of each track: only what lives on has no end.
func (c *comparison) nesting() {
	open := map[uint64]int{}
	for _, e := range c.inOrder() {
		switch e.Type {
		case Begin:
			open[e.Track]++
		case End:
			if open[e.Track]--; open[e.Track] < 0 {
				c.differ("a slice of track %d ends at %d ns before it began", e.Track, e.Time)
			}
		}
	}
	left := 0
	for _, n := range open {
		left += n
	}
	want := 0
	for _, p := range c.tl.Processes {
		if !p.Ended && !p.Kernel {
			want++
		}
	}
	if !c.tl.Complete() {
		want++ // the recording itself
	}
	if left != want {
		c.differ("%d slices have no end, want %d", left, want)
	}
}

// imported is an import on a thread's track.
type imported struct {
	Time         uint64
	TID          int64
	Name, Within string
}

// imports compares what is nested in what.
func (c *comparison) imports(interpreters []*python.Interpreter) {
	var got, want []imported
	stacks := map[uint64][]string{}
	for _, e := range c.inOrder() {
		stack := append(stacks[e.Track], "")
		switch {
		case e.Type == Begin:
			if e.Category == "import" {
				got = append(got, imported{e.Time, c.got.Tracks[e.Track].TID, e.Name, stack[max(0, len(stack)-2)]})
			}
			stack[len(stack)-1] = e.Name
		case e.Type == End && len(stack) > 1:
			stack = stack[:len(stack)-2]
		default:
			stack = stack[:len(stack)-1]
		}
		stacks[e.Track] = stack
	}
	for _, in := range interpreters {
		for _, m := range in.Modules {
			i := imported{Time: m.Start, TID: int64(m.Open.Thread.TID), Name: m.Name}
			if m.Parent != nil {
				i.Within = m.Parent.Name
			}
			want = append(want, i)
		}
	}
	key := func(i *imported) (uint64, int, *string) { return i.Time, len(i.Name), nil }
	match(c, "import", got, want, key)
}

// inOrder returns the events as a reader has them: in order of time.
func (c *comparison) inOrder() []Event {
	events := slices.Clone(c.got.Events)
	sort.SliceStable(events, func(i, j int) bool { return events[i].Time < events[j].Time })
	return events
}

// running adds up each thread's time on CPUs from the switches, as a reader would, where nothing is
// missing. Before a CPU's first switch the timeline may know better than that its thread ran. Where
// clocks of CPUs differ, so that a thread seems to be on two at once, it knows nothing.
func (c *comparison) running() {
	if c.tl.Lost() > 0 || !c.tl.Complete() || len(c.tl.Problems) > 0 {
		return
	}
	time, unsure := map[int64]uint64{}, map[int64]uint64{}
	last := map[int]Switch{}
	for _, s := range c.got.Switches {
		if before, ok := last[s.CPU]; ok {
			time[s.Prev] += s.Time - before.Time
		} else {
			unsure[s.Prev] += s.Time - c.tl.Start
		}
		last[s.CPU] = s
	}
	for _, s := range last {
		time[s.Next] += c.tl.End - s.Time
	}
	want, doubt := map[int64]uint64{}, map[int64]uint64{}
	for _, th := range c.tl.Threads {
		tid := int64(th.TID)
		if th.ContinuedAs != nil { // a switch knows only the id that it had when it left
			tid = int64(th.ContinuedAs.TID)
		}
		want[tid] += th.Times[timeline.Running]
		doubt[tid] += th.Times[timeline.Unknown]
	}
	for tid, ns := range want {
		if doubt[tid] == 0 && time[tid] != ns && time[tid]+unsure[tid] != ns {
			c.differ("thread %d ran for %d ns, want %d", tid, time[tid], ns)
		}
	}
}

package report

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// wait is where a process waited, over all its threads.
type wait struct {
	process *timeline.Process
	timeline.Sleep
}

// waitsOf sums up where a process waited, the longest first.
func waitsOf(p *timeline.Process) []*wait {
	type key struct {
		syscall         uint16
		compat, reclaim bool
		state           timeline.State
	}
	sums := map[key]*wait{}
	list := []*wait{}
	for _, th := range p.Threads {
		for _, s := range th.Sleeps {
			k := key{s.Syscall, s.Compat, s.Reclaim, s.State}
			if sums[k] == nil {
				sums[k] = &wait{p, s}
				list = append(list, sums[k])
				continue
			}
			sums[k].Time += s.Time
			sums[k].Count += s.Count
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time > list[j].Time })
	return list
}

// in names what a process waited in.
func (r *Report) in(w *wait) string {
	switch {
	case w.Reclaim:
		return "reclaim"
	case w.Syscall != event.NoSyscall:
		return syscalls.Name(r.Header.Arch, w.Compat, w.Syscall)
	case w.process.Kernel:
		return "the kernel"
	case w.State == timeline.Sleeping || !r.Can.Syscalls:
		return "not known"
	}
	return "page fault"
}

// waits writes where processes waited. The short form leaves out sleeping: waiting for something to do is
// what most programs do most of the time.
func (t *text) waits() {
	var list []*wait
	for _, p := range t.r.Processes {
		for _, w := range waitsOf(p) {
			if t.top != DefaultTop || w.State != timeline.Sleeping && !p.Kernel {
				list = append(list, w)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time > list[j].Time })
	n := t.rows(len(list))
	title := "Waits by system call"
	if t.top == DefaultTop {
		title = "Waits for storage, or blocked, by system call"
	}
	t.line("%s (%d of %d)", title, n, len(list))
	t.line("%9s %8s  %-8s  %-16s %7s  %s", "time", "times", "state", "in", "pid", "process")
	for _, w := range list[:n] {
		t.line("%9s %8d  %-8s  %-16s %7d  %s", seconds(w.Time), w.Count, stateNames[w.State], cut(t.r.in(w), 16),
			w.process.PID, processName(w.process))
	}
}

var stateNames = map[timeline.State]string{
	timeline.Sleeping: "sleeping", timeline.Blocked: "blocked", timeline.IOWait: "I/O",
}

// blockedTime is how long the threads of all programs waited for storage or were blocked.
func (r *Report) blockedTime() (sum uint64) {
	for _, p := range r.Processes {
		if !p.Kernel {
			sum += p.Times[timeline.IOWait] + p.Times[timeline.Blocked]
		}
	}
	return sum
}

// filesRead writes the files by what was read of them.
func (t *text) filesRead() {
	var list []*timeline.File
	for _, f := range t.r.Files {
		if f.Reads.Bytes > 0 {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Reads.Bytes > list[j].Reads.Bytes })
	n := t.rows(len(list))
	t.line("Files by bytes read (%d of %d); again: after they had been evicted", n, len(list))
	t.line("%10s %10s %6s %9s  %s", "read", "again", "faults", "blocked", "file")
	for _, f := range list[:n] {
		at := fmt.Sprintf("%10s %10s %6d %9s  ", size(f.Reads.Bytes), size(f.Reads.Again), f.Faults.Count, seconds(f.Faults.Time))
		t.line("%s%s", at, cutLeft(printable(f.Name()), columns-width(at)))
	}
}

// readTime is how long programs waited for what they read: what they waited for I/O, but not in a sync.
func (r *Report) readTime() (sum uint64) {
	for _, p := range r.Processes {
		if p.Reads.Bytes > 0 {
			sum += p.Times[timeline.IOWait] - min(p.Syncs.Time, p.Times[timeline.IOWait])
		}
	}
	return sum
}

// reclaim writes who had to free memory.
func (t *text) reclaim() {
	var list []*timeline.MemoryGroup
	for _, g := range t.r.Memory {
		if g.Count > 0 || t.top == 0 {
			list = append(list, g)
		}
	}
	s := t.r.Shortage
	if len(list) == 0 && s.Count == 0 {
		return
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time > list[j].Time })
	n := t.rows(len(list))
	t.line("Units whose tasks had to free memory (%d of %d)", n, len(list))
	t.line("%9s %7s %7s %10s %10s  %s", "time", "times", "in vain", "freed", "limit", "unit or cgroup")
	for _, g := range list[:n] {
		bound := "-"
		if limit, _, limited := g.Limit(); limited {
			bound = size(limit)
		}
		name := g.Unit
		if name == "" {
			name = g.Path
		}
		at := fmt.Sprintf("%9s %7d %7d %10s %10s  ", seconds(g.Time), g.Count, g.InVain, size(g.Freed), bound)
		t.line("%s%s", at, cutLeft(printable(name), columns-width(at)))
	}
	if s.Count > 0 {
		t.line("%9s %7d %7d %10s %10s  %s", seconds(s.Time), s.Count, s.InVain, size(s.Freed), "-", "the machine ran short of memory")
	}
}

// reclaimTime is how long tasks had to free memory.
func (r *Report) reclaimTime() uint64 {
	sum := r.Shortage.Time
	for _, g := range r.Memory {
		sum += g.Time
	}
	return sum
}

// syncs writes who waited for its data to be on storage.
func (t *text) syncs() {
	list := t.r.byTime(func(p *timeline.Process) uint64 { return p.Syncs.Time })
	if len(list) == 0 {
		return
	}
	n := t.rows(len(list))
	t.line("Processes by time in fsync and the like (%d of %d)", n, len(list))
	t.line("%9s %7s %7s  %s", "time", "calls", "pid", "process")
	for _, p := range list[:n] {
		t.line("%9s %7d %7d  %s", seconds(p.Syncs.Time), p.Syncs.Count, p.PID, processName(p))
	}
}

func (r *Report) syncTime() (sum uint64) {
	for _, p := range r.Processes {
		sum += p.Syncs.Time
	}
	return sum
}

package idle

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Options say what the text shows.
type Options struct {
	Top    int  // rows of each table, 0 for all
	ByUnit bool // units instead of tasks
}

// screenFindings is how many findings the short form lists.
const screenFindings = 5

// DefaultTop is how many rows each table has so that all fits on one screen of 80 columns.
const DefaultTop = 8

// Text writes what there is to know for people, what to fix first.
func Text(w io.Writer, i *Idle, o Options) error {
	t := &text{Writer: bufio.NewWriter(w), i: i, Options: o}
	t.recorded()
	t.busy()
	t.frequencies()
	t.findings()
	if o.ByUnit {
		t.tasks("Units", i.Units())
	} else {
		t.tasks("Tasks", i.Tasks)
	}
	t.memory()
	t.interrupts()
	return t.Flush()
}

type text struct {
	*bufio.Writer
	Options
	i *Idle
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintln(t.Writer, strings.TrimRight(prose.Cut(fmt.Sprintf(format, args...), prose.Columns), " "))
}

// paragraph writes words over as many lines as they need.
func (t *text) paragraph(s string, indent int) {
	for _, line := range prose.Wrap(s, prose.Columns, indent) {
		fmt.Fprintln(t.Writer, line)
	}
}

func (t *text) rows(n int) int {
	if t.Top == 0 {
		return n
	}
	return min(n, t.Top)
}

// recorded says what this is a recording of, and what is missing from it.
func (t *text) recorded() {
	i := t.i
	if !i.Complete() {
		t.paragraph("INCOMPLETE: the recording was cut off, what came later is missing.", 2)
	}
	if n := len(i.Problems); n > 0 {
		t.paragraph(fmt.Sprintf("DAMAGED: %s could not be read.", prose.Count(n, "place")), 2)
	}
	t.line("%s of Linux %s %s, %s, %s after the boot began", prose.Seconds(i.Duration()), prose.Printable(i.Header.Kernel),
		prose.Printable(i.Header.Arch), prose.Count(i.cpus(), "CPU"), prose.Seconds(i.Start))
	if lost := i.Lost(); lost > 0 {
		var parts []string
		for _, l := range i.Losses {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", l.Count, prose.Printable(l.Probe), prose.Printable(l.Reason)))
		}
		t.paragraph(fmt.Sprintf("LOST: %s, so what follows is incomplete: %s.", prose.Count(int(min(lost, 1<<31)), "event"),
			strings.Join(parts, ", ")), 2)
	}
	for _, missing := range i.missing() {
		t.paragraph(missing, 2)
	}
}

// missing says what the recording can't tell.
func (i *Idle) missing() (list []string) {
	if !i.Can.Sched {
		list = append(list, "The sched probe is off: CPU times are the kernel's own counts, wake-ups are not known.")
	} else if !i.Can.Wakers {
		list = append(list, "The irq probe is off: timers and interrupts are shown as the task that they interrupted.")
	}
	return list
}

// busy says how busy the machine is, and what recording added to that.
func (t *text) busy() {
	i := t.i
	t.paragraph(fmt.Sprintf("Busy: %.2f %% of all CPU time, %.1f wake-ups/s.", i.percent(i.Busy), i.perSecond(i.wakeupsOfAll())), 2)
	if i.Trailer == nil {
		t.line("What recording cost is not known: it is written at the end.")
		return
	}
	t.paragraph(fmt.Sprintf("Recording cost %.2f %% (recorder %.2f %%, its programs %.2f %%) and woke an idle CPU %.2f times/s: "+
		"taken out of all numbers.", i.percent(i.Recorder.CPU+i.Programs), i.percent(i.Recorder.CPU), i.percent(i.Programs),
		i.perSecond(i.Recorder.IdleExits)), 2)
}

// findings lists what to fix.
func (t *text) findings() {
	list := t.i.Findings
	if len(list) == 0 {
		t.line("Nothing was found that is worth fixing.")
		return
	}
	t.line("What to fix first (%s)", prose.Count(len(list), "finding"))
	n, detailed := t.rows(len(list)), t.rows(len(list))
	if t.Top == DefaultTop {
		n, detailed = min(len(list), screenFindings), 1
	}
	for k, f := range list[:n] {
		about := ""
		if f.Unit != "" {
			about = ", " + prose.Printable(f.Unit)
		}
		t.paragraph(fmt.Sprintf("%3d. %s%s: at most %.2f %% of all CPU time [%s]", k+1, prose.Printable(f.Title), about,
			t.i.percent(f.Cost), f.ID), 5)
		if k >= detailed {
			continue
		}
		for j, e := range f.Evidence {
			if t.Top == 0 || j < 3 {
				t.paragraph("     "+prose.Printable(e), 7)
			}
		}
		t.paragraph("     Remedy: "+prose.Printable(f.Remedy)+".", 7)
	}
}

// tasks writes who ran and who woke.
func (t *text) tasks(title string, list []*Task) {
	n := t.rows(len(list))
	t.line("%s by CPU time (%d of %d)", title, n, len(list))
	if n == 0 {
		return
	}
	t.line("%7s %9s %7s  %-20s  %s", "CPU", "wakes/s", "tid", "name", "woken by")
	for _, task := range list[:n] {
		id := ""
		if task.Thread != nil {
			id = fmt.Sprint(task.Thread.TID)
		}
		t.line("%s", fmt.Sprintf("%5.2f %% %9.1f %7s  %-20s  ", t.i.percent(task.CPU), t.i.perSecond(task.Wakeups), id,
			prose.Cut(task.name(), 20))+t.wokenBy(task))
	}
}

// wokenBy names the sources that make up most wake-ups.
func (t *text) wokenBy(task *Task) string {
	var parts []string
	for k, s := range task.WokenBy {
		if k == 2 || k > 0 && s.Count*10 < task.Wakeups {
			break
		}
		part := prose.Printable(s.By)
		switch {
		case s.Regular && s.Period > 0:
			part += fmt.Sprintf(" %.3g Hz, regular", 1e9/float64(s.Period))
		case k > 0 || s.Count < task.Wakeups:
			part += fmt.Sprintf(" %.3g/s", t.i.perSecond(s.Count))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// memory writes who waits for storage since memory is short: nothing if nobody does.
func (t *text) memory() {
	var list []*Task
	for _, u := range t.i.Units() {
		if u.MajorFaults > 0 || u.Reread > 0 {
			list = append(list, u)
		}
	}
	if len(list) == 0 {
		return
	}
	sort.SliceStable(list, func(a, b int) bool {
		return list[a].Reread > list[b].Reread || list[a].Reread == list[b].Reread && list[a].MajorFaults > list[b].MajorFaults
	})
	n := t.rows(len(list))
	t.line("Major faults and what was read again, by unit (%d of %d)", n, len(list))
	for _, u := range list[:n] {
		again := "-"
		if t.i.Can.Reads {
			again = prose.Size(uint64(t.i.perSecond(u.Reread))) + "/s"
		}
		t.line("%7.1f/s %13s  %s", t.i.perSecond(u.MajorFaults), again, u.name())
	}
}

// interrupts writes what interrupts took: time that is part of what they interrupted.
func (t *text) interrupts() {
	if !t.i.Can.Wakers {
		return
	}
	list := t.i.interruptsByTime()
	n := t.rows(len(list))
	t.line("Interrupts by time (%d of %d); of what they interrupted, or of an idle CPU", n, len(list))
	for _, in := range list[:n] {
		name := prose.Printable(in.Name)
		if in.By == event.WakerIrq || in.By == event.WakerSoftirq {
			name = in.By.String() + " " + name
		}
		t.line("%5.2f %% %7.1f/s %7s  %s", t.i.percent(in.Time), t.i.perSecond(in.Count), "", name)
	}
}

// callOf names what a thread slept in.
func (i *Idle) callOf(s *timeline.WakeSource) string {
	if s.Syscall == event.NoSyscall {
		return ""
	}
	return syscalls.Name(i.Header.Arch, s.Compat, s.Syscall)
}

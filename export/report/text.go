package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/bootscope/bootscope/tracer/findings"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// DefaultTop is how many rows each table has so that all fits on one screen of 80 columns.
const DefaultTop = 3

// screenFindings is how many findings the short form lists: the five that cost most.
const screenFindings = 5

// Text writes the report for people. top is the number of rows in each table, 0 for all.
func Text(w io.Writer, r *Report, top int) error {
	t := &text{r: r, top: top}
	t.Writer = bufio.NewWriter(&t.written)
	t.recorded()
	t.cost()
	t.losses()
	t.boot()
	t.findings()
	t.tables(t.all())
	t.Flush()
	_, err := w.Write(t.written.Bytes())
	return err
}

// all returns the tables in the order in which they are shown.
func (t *text) all() []table {
	r := t.r
	cpuOf := func(p *timeline.Process) uint64 {
		ns, _ := r.cpuOf(p)
		return ns
	}
	list := []table{{"processes by CPU time", t.sum(cpuOf), func(t *text) { t.processes("Processes by CPU time", cpuOf) }}}
	if r.Can.Sched {
		list = append(list,
			table{"processes by waiting", t.sum(waitOf), func(t *text) {
				t.processes("Processes by waiting (for a CPU, for I/O, or blocked)", waitOf)
			}},
			table{"waits by system call", r.blockedTime(), (*text).waits})
	}
	return append(list,
		table{"critical chain", r.chainTime(), (*text).criticalChain},
		table{"units by start", r.startTime(), (*text).blame},
		table{"initcalls", r.initcallTime(), (*text).initcalls},
		table{"Python modules", moduleTime(r), (*text).modules},
		table{"files read", r.readTime(), (*text).filesRead},
		table{"reclaim", r.reclaimTime(), (*text).reclaim},
		table{"fsync", r.syncTime(), (*text).syncs})
}

// sum adds up a time of the processes.
func (t *text) sum(time func(*timeline.Process) uint64) (sum uint64) {
	for _, p := range t.r.Processes {
		sum += time(p)
	}
	return sum
}

func moduleTime(r *Report) (sum uint64) {
	for _, f := range r.Python {
		sum += f.Self.Sum()
	}
	return sum
}

type text struct {
	*bufio.Writer
	r       *Report
	top     int
	written bytes.Buffer
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintln(t.Writer, cut(fmt.Sprintf(format, args...), columns))
}

// paragraph writes words over as many lines as they need, those after the first indented.
func (t *text) paragraph(s string, indent int) {
	for _, line := range wrap(s, columns, indent) {
		fmt.Fprintln(t.Writer, line)
	}
}

// rows limits a number of rows to what is wanted.
func (t *text) rows(n int) int {
	if t.top == 0 {
		return n
	}
	return min(n, t.top)
}

// findings lists what to fix: in the short form one line each, and more about the first.
func (t *text) findings() {
	list := t.r.Findings
	if len(list) == 0 {
		t.line("Nothing was found that is worth fixing.")
		return
	}
	n, detailed := t.rows(len(list)), t.rows(len(list))
	if t.top == DefaultTop {
		n, detailed = min(len(list), screenFindings), 1
	}
	t.line("What to fix first (%s)", count(len(list), "finding"))
	for i, f := range list[:n] {
		about := ""
		if f.PID != 0 {
			about = fmt.Sprintf(", pid %d", f.PID)
		}
		if f.Unit != "" {
			about += ", " + printable(f.Unit)
		}
		head, id := fmt.Sprintf("%3d. at most %s: ", i+1, seconds(f.Cost)), " ["+f.ID+"]"
		t.line("%s%s%s", head, cut(printable(f.Title)+about, columns-width(head)-width(id)), id)
		if i < detailed {
			t.details(&f, n-1-i)
		}
	}
}

// details writes the evidence and the remedy of a finding. In the short form, what has no room beside the
// lines that are still to come is left out.
func (t *text) details(f *findings.Finding, toCome int) {
	parts := []string{}
	for j, e := range f.Evidence {
		if j < t.rows(len(f.Evidence)) {
			parts = append(parts, "     "+printable(e))
		}
	}
	for _, part := range append(parts, "     Remedy: "+printable(f.Remedy)+".") {
		n := len(wrap(part, columns, 7))
		if reserved := t.reserved(); reserved == 0 || t.lines()+n+toCome+reserved < screenLines {
			t.paragraph(part, 7)
		}
	}
}

// processes writes a table of the processes with the most of a time.
func (t *text) processes(title string, time func(*timeline.Process) uint64) {
	list := t.r.byTime(time)
	n := t.rows(len(list))
	t.line("%s (%d of %d)", title, n, len(t.r.Processes))
	if n == 0 {
		return
	}
	weighed := len(t.r.Policies) > 0 && t.r.speeds.top > 0
	head := ""
	if weighed {
		head = fmt.Sprintf(" %9s", "top speed")
	}
	t.line("%9s%s %9s %9s %9s %7s  %s", "CPU", head, "CPU wait", "I/O wait", "blocked", "pid", "process")
	for _, p := range list[:n] {
		cpu, known := t.r.cpuOf(p)
		atTop := ""
		if weighed {
			atTop = fmt.Sprintf(" %9s", secondsOr(t.r.speeds.atTop(p)))
		}
		t.line("%9s%s %9s %9s %9s %7d  %s", secondsOr(cpu, known), atTop,
			secondsOr(p.Times[timeline.Runnable], t.r.Can.Sched), secondsOr(p.Times[timeline.IOWait], t.r.Can.IOWait),
			secondsOr(p.Times[timeline.Blocked], t.r.Can.Sched), p.PID, processName(p))
	}
}

func processName(p *timeline.Process) string {
	name := printable(p.Comm())
	if name == "" {
		name = "-"
	}
	var about []string
	switch {
	case p.Recorder:
		about = append(about, "the recorder")
	case p.Command:
		about = append(about, "command")
	case p.Kernel:
		about = append(about, "kernel")
	}
	if p.Unit != nil {
		about = append(about, printable(p.Unit.Name))
	}
	if len(about) == 0 {
		return name
	}
	return name + " (" + strings.Join(about, ", ") + ")"
}

// modules writes the Python modules by the time that their imports took themselves.
func (t *text) modules() {
	list := t.r.Python
	if len(list) == 0 {
		return
	}
	n := t.rows(len(list))
	t.line("Python modules by self time of their import (%d of %d)", n, len(list))
	t.line("%9s %9s %9s %5s  %s", "time", "of it CPU", "CPU wait", "times", "module, found in")
	for _, f := range list[:n] {
		at := fmt.Sprintf("%9s %9s %9s %5d  %s  ", seconds(f.Self.Sum()),
			secondsOr(f.Self[timeline.Running], t.r.Can.Sched),
			secondsOr(f.Self[timeline.Runnable], t.r.Can.Sched), f.Opens, printable(f.Module))
		t.line("%s%s", at, cutLeft(printable(python.Home(f.File.Path)), columns-width(at)))
	}
}

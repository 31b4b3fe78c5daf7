package imports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Options say how much to show.
type Options struct {
	Sort Sort
	Flat bool   // modules as a list, not as a tree
	Min  uint64 // nanoseconds that a module takes at least to be shown; 0: a hundredth of all
	Top  int    // rows of a table or tree, 0 for all
}

// DefaultTop is how many rows are shown unless the user wants more.
const DefaultTop = 20

// Text writes the interpreters, and the modules of those that imported longest: of one, or of all that a
// filter has left if there are few.
func Text(w io.Writer, im *Imports, o Options) error {
	t := &text{Writer: bufio.NewWriter(w), im: im, o: o}
	list := im.byTime()
	t.interpreters(list)
	shown := 1
	if o.Top == 0 {
		shown = len(list)
	}
	for _, in := range list[:min(shown, len(list))] {
		t.line("")
		t.modules(in)
	}
	if shown < len(list) {
		t.line("")
		t.line("--pid, --process or --unit shows another one, --top 0 all of them.")
	}
	return t.Flush()
}

type text struct {
	*bufio.Writer
	im *Imports
	o  Options
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintln(t, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *text) rows(n int) int {
	if t.o.Top > 0 {
		return min(n, t.o.Top)
	}
	return n
}

// interpreters writes the table of all.
func (t *text) interpreters(list []*python.Interpreter) {
	n := t.rows(len(list))
	t.line("Python interpreters by the time of their imports (%d of %d)", n, len(list))
	t.line("  %9s %9s %9s %9s %11s %11s %9s", "imports", "of it CPU", "CPU wait", "I/O wait", "started", "imports end", "to wait")
	for _, in := range list[:n] {
		sum := totalOf(in)
		t.line("%s", prose.Cut(heading(in), prose.Columns))
		wait := "-"
		if in.FirstWait != 0 {
			wait = prose.Seconds(in.FirstWait - in.ImportsEnd)
		}
		t.line("  %9s %9s %9s %9s %11s %11s %9s", prose.Seconds(sum.Sum()),
			prose.SecondsOr(sum[timeline.Running], t.im.Can.Sched), prose.SecondsOr(sum[timeline.Runnable], t.im.Can.Sched),
			prose.SecondsOr(sum[timeline.IOWait], t.im.Can.IOWait), prose.Seconds(in.Start), prose.Seconds(in.ImportsEnd), wait)
	}
	for _, line := range prose.Wrap("Imports end with the last one before the first second without any. To wait: from then until "+
		"the program first sleeps for 20 ms or more. Trees are inferred from the depth of the stack at opens and samples; "+
		"the confidence is that of the calibration.", prose.Columns, 0) {
		t.line("%s", line)
	}
}

// heading says who an interpreter is.
func heading(in *python.Interpreter) string {
	var about []string
	if u := in.Process.Unit; u != nil {
		about = append(about, prose.Printable(u.Name))
	}
	about = append(about, fmt.Sprintf("pid %d", in.Process.PID))
	if in.Version != "" {
		about = append(about, "Python "+in.Version)
	}
	if in.Forked {
		about = append(about, "forked")
	}
	about = append(about, "confidence "+in.Calibration.Confidence().String())
	name := prose.Printable(nameOf(in))
	if name == "" {
		name = "-"
	}
	return prose.CutLeft(name, 36) + " (" + strings.Join(about, ", ") + ")"
}

// modules writes what an interpreter imported.
func (t *text) modules(in *python.Interpreter) {
	t.line("%s", prose.Cut("Imports of "+heading(in), prose.Columns))
	t.line("%9s %9s %10s %8s %8s %-6s %s", "cumul.", "self", "CPU", "CPU wait", "I/O wait", "share", "module")
	sum := totalOf(in)
	l := &lister{text: t, most: max(sum.Sum(), 1), least: t.o.Min}
	if l.least == 0 {
		l.least = l.most / 100
	}
	if t.o.Flat {
		l.flat(in.Modules)
	} else {
		l.least = max(l.least, t.costliest(in.Modules))
		l.tree(in.Roots, 0)
	}
	if l.left > 0 {
		t.line("%s not shown: --min and --top show more", prose.Count(l.left, "module"))
	}
	if !t.o.Flat {
		t.legend(in)
	}
}

// legend explains the columns, and says what is known of the search for modules.
func (t *text) legend(in *python.Interpreter) {
	t.line("CPU, waits and the share of all imports (# CPU, = CPU wait, ~ I/O, - other)\nare those of the cumulative time.")
	search := fmt.Sprintf("Search for modules until imports ended: %s, %s; about %s in all. Not measured: stat calls, which "+
		"most of the search consists of, and which a long sys.path multiplies.", prose.Count(in.Search.FailedOpens, "failed open"),
		prose.Count(in.Search.Listings, "directory listing"), prose.Seconds(in.Search.Time))
	for _, line := range prose.Wrap(search, prose.Columns, 0) {
		t.line("%s", line)
	}
}

// costliest is what a module takes at least to be among the rows of a tree. Whoever asked for it took longer, so
// that is in, too.
func (t *text) costliest(modules []*python.Module) uint64 {
	if t.o.Top == 0 || len(modules) <= t.o.Top {
		return 0
	}
	return ByCumulative.sorted(modules)[t.o.Top-1].Total.Sum()
}

// lister writes modules until there are enough.
type lister struct {
	*text
	most, least uint64
	written     int
	left        int
}

func (l *lister) flat(modules []*python.Module) {
	for _, m := range l.o.Sort.sorted(modules) {
		l.row(m, 0)
	}
}

// tree writes the costliest branches: a module is left out only with all below it.
func (l *lister) tree(modules []*python.Module, depth int) {
	for _, m := range l.o.Sort.sorted(modules) {
		if l.row(m, depth) {
			l.tree(m.Children, depth+1)
		} else {
			l.left += descendants(m)
		}
	}
}

func descendants(m *python.Module) (n int) {
	for _, c := range m.Children {
		n += 1 + descendants(c)
	}
	return n
}

// row writes a module if it is worth a row and there is room.
func (l *lister) row(m *python.Module, depth int) bool {
	if m.Total.Sum() < l.least || l.o.Top > 0 && l.written >= l.o.Top {
		l.left++
		return false
	}
	l.written++
	known := l.im.Can.Sched
	name := strings.Repeat(" ", depth) + prose.Printable(m.Name) + noteOn(m)
	columns := fmt.Sprintf("%9s %9s  %9s %8s %8s %-6s ", prose.Seconds(m.Total.Sum()), prose.Seconds(m.Self.Sum()),
		prose.SecondsOr(m.Total[timeline.Running], known), prose.SecondsOr(m.Total[timeline.Runnable], known),
		prose.SecondsOr(m.Total[timeline.IOWait], l.im.Can.IOWait), l.bar(&m.Total))
	l.line("%s%s", columns, prose.Cut(name, max(prose.Columns-prose.Width(columns), 20)))
	return true
}

// noteOn marks what is special about an import.
func noteOn(m *python.Module) string {
	switch {
	case m.Main:
		return " (the program)"
	case m.Again:
		return " (again)"
	case m.Open.Cache.State == python.Missing, m.Open.Cache.State == python.Stale:
		return " (compiled)"
	}
	return ""
}

// bar draws a time as a share of all.
func (l *lister) bar(t *timeline.Times) string {
	const width = 6
	var b strings.Builder
	end, drawn := uint64(0), 0
	for _, part := range []struct {
		ns   uint64
		mark string
	}{{t[timeline.Running], "#"}, {t[timeline.Runnable], "="}, {t[timeline.IOWait], "~"}, {other(t), "-"}} {
		end += part.ns
		for upTo := int((width*end + l.most/2) / l.most); drawn < min(upTo, width); drawn++ {
			b.WriteString(part.mark)
		}
	}
	return b.String()
}

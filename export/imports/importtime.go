package imports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/python"
)

// ImportTime writes an interpreter's imports in the form of python -X importtime, which viewers of such
// logs read: an import comes after those that it asked for, two spaces out.
func ImportTime(w io.Writer, in *python.Interpreter) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "import time: self [us] | cumulative | imported package")
	for _, m := range in.Roots {
		importTime(out, m, 0)
	}
	return out.Flush()
}

func importTime(w io.Writer, m *python.Module, depth int) {
	for _, c := range m.Children {
		importTime(w, c, depth+1)
	}
	// Viewers split at spaces.
	name := strings.ReplaceAll(prose.Printable(m.Name), " ", `\x20`)
	fmt.Fprintf(w, "import time: %9d | %10d | %s%s\n", (m.Self.Sum()+500)/1000, (m.Total.Sum()+500)/1000,
		strings.Repeat("  ", depth), name)
}

// Check writes how far an interpreter agrees with a log of -X importtime of the same run. Of several
// interpreters it takes the one that the log fits best.
func Check(w io.Writer, im *Imports, log []*python.LogEntry) error {
	if len(log) == 0 {
		return fmt.Errorf("the log has no line of -X importtime")
	}
	var best *python.Agreement
	var in *python.Interpreter
	for _, candidate := range im.Interpreters {
		if a := python.Compare(candidate, log); best == nil || a.SameParent > best.SameParent {
			best, in = a, candidate
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n", heading(in))
	fmt.Fprintf(out, "%s in the log, %d of them opened a file; the others are built in, frozen or were not found\n",
		prose.Count(best.Entries, "import"), best.Matched)
	if best.Matched == 0 {
		fmt.Fprintln(out, "none in common: the log is of another program")
		return out.Flush()
	}
	fmt.Fprintf(out, "same importer: %d (%.1f %%)\n", best.SameParent, 100*float64(best.SameParent)/float64(best.Matched))
	for _, d := range best.Differ {
		fmt.Fprintf(out, "  %s: asked for by %s in the log, by %s here\n", prose.Printable(d.Module),
			nobody(d.InLog), nobody(d.InRecording))
	}
	if n, median, p95 := python.TimeErrors(best.Times, 10e6); n > 0 {
		fmt.Fprintf(out, "cumulative time of the %d imports of 10 ms or more: median error %.1f %%, 95th percentile %.1f %%\n",
			n, 100*median, 100*p95)
	}
	for _, t := range best.Times {
		if e := t.Error(); t.LogCumulative >= 10e6 && e > 0.15 {
			fmt.Fprintf(out, "  %s: %s in the log, %s here\n", prose.Printable(t.Module), prose.Seconds(t.LogCumulative),
				prose.Seconds(t.Cumulative))
		}
	}
	return out.Flush()
}

func nobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return prose.Printable(name)
}

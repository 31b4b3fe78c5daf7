package imports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/python"
)

// Why writes, for each interpreter that imported a module, who asked for it first, through which chain,
// and what it cost. root is a directory with the file system that was recorded: there the sources are
// searched for other modules that import it, too. "" is none.
func Why(w io.Writer, im *Imports, module, root string) error {
	out := bufio.NewWriter(w)
	found := false
	for _, in := range im.byTime() {
		for _, m := range in.Modules {
			if m.Name != module {
				continue
			}
			found = true
			why(out, in, m)
			if root != "" {
				if err := whyElse(out, in, m, root); err != nil {
					return err
				}
			}
		}
	}
	if !found {
		return fmt.Errorf("no interpreter imported %s: it may be built in or frozen, or it was imported before the recording", module)
	}
	lines := prose.Wrap("Saved at most: all of that time, if nobody imported it. A module that imports it later finds it "+
		"loaded and opens nothing, so the recording can't show it, and would then import it itself.", prose.Columns, 0)
	if root == "" {
		lines = append(lines, "--root DIRECTORY searches the sources of all imported modules for such others.")
	}
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

func why(w io.Writer, in *python.Interpreter, m *python.Module) {
	fmt.Fprintln(w, prose.Cut(heading(in), prose.Columns))
	var chain []*python.Module
	for a := m; a != nil; a = a.Parent {
		chain = append(chain, a)
	}
	fmt.Fprintf(w, "  at %s the program asked for\n", prose.Seconds(chain[len(chain)-1].Start))
	for i := len(chain) - 1; i >= 0; i-- {
		c := chain[i]
		indent := strings.Repeat(" ", min(4+len(chain)-1-i, 30))
		fmt.Fprintf(w, "%s%s  %s, self %s\n", indent, prose.Printable(c.Name)+noteOn(c),
			prose.Seconds(c.Total.Sum()), prose.Seconds(c.Self.Sum()))
	}
	fmt.Fprintf(w, "  %s\n", prose.CutLeft(prose.Printable(m.Open.File.Path), prose.Columns-2))
	fmt.Fprintf(w, "  at most %s: itself %s, and %s that it asked for %s\n", prose.Seconds(m.Total.Sum()),
		prose.Seconds(m.Self.Sum()), prose.Count(descendants(m), "module"), prose.Seconds(m.Total.Sum()-m.Self.Sum()))
}

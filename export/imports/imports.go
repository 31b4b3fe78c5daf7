// Package imports shows what Python interpreters imported: a table of the interpreters, the trees of
// imports, why a module was imported, and the same as JSON and in the form of -X importtime. It must
// not infer anything: that is tracer/python's part.
package imports

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Imports is a recording and the interpreters in it that are to be shown.
type Imports struct {
	*timeline.Timeline
	Interpreters []*python.Interpreter
}

// Build reads a trace.
func Build(src tracefile.Source) (*Imports, error) {
	collector := python.NewCollector()
	tl, err := timeline.Build(src, collector)
	if err != nil {
		return nil, err
	}
	return &Imports{Timeline: tl, Interpreters: collector.Interpreters()}, nil
}

// Filter says which interpreters are wanted. What is zero leaves them all.
type Filter struct {
	Process string // a process's name, its program's or its script's
	Unit    string
	PID     uint32
}

// Select keeps the interpreters that a filter wants. It fails if there is none, and says which there are.
func (im *Imports) Select(f Filter) error {
	var kept []*python.Interpreter
	for _, in := range im.Interpreters {
		if f.wants(in) {
			kept = append(kept, in)
		}
	}
	if len(kept) == 0 {
		if len(im.Interpreters) == 0 {
			return fmt.Errorf("no Python interpreter imported anything in this recording")
		}
		var names []string
		for _, in := range im.Interpreters {
			names = append(names, fmt.Sprintf("%s (pid %d)", prose.Printable(nameOf(in)), in.Process.PID))
		}
		return fmt.Errorf("no such interpreter; there are %s", strings.Join(names, ", "))
	}
	im.Interpreters = kept
	return nil
}

func (f Filter) wants(in *python.Interpreter) bool {
	p := in.Process
	if f.PID != 0 && p.PID != f.PID {
		return false
	}
	if f.Unit != "" && (p.Unit == nil || p.Unit.Name != f.Unit && strings.TrimSuffix(p.Unit.Name, ".service") != f.Unit) {
		return false
	}
	return f.Process == "" || slices.Contains([]string{p.Comm(), path.Base(in.Exe), nameOf(in), path.Base(nameOf(in))}, f.Process)
}

// nameOf says which program an interpreter runs: its script or module, else the process's name.
func nameOf(in *python.Interpreter) string {
	if in.Program != "" {
		return in.Program
	}
	return in.Process.Comm()
}

// byTime are the interpreters, the longest imports first.
func (im *Imports) byTime() []*python.Interpreter {
	list := slices.Clone(im.Interpreters)
	slices.SortStableFunc(list, func(a, b *python.Interpreter) int {
		x, y := totalOf(a), totalOf(b)
		return compare(y.Sum(), x.Sum())
	})
	return list
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// totalOf is what all imports of an interpreter took.
func totalOf(in *python.Interpreter) (sum timeline.Times) {
	for _, m := range in.Roots {
		sum.Add(&m.Total)
	}
	return sum
}

// other is the time that is neither on a CPU, nor waiting for one, nor for I/O.
func other(t *timeline.Times) uint64 {
	return t.Sum() - t[timeline.Running] - t[timeline.Runnable] - t[timeline.IOWait]
}

// Sort is what modules are ordered by, the most first.
type Sort string

// The orders.
const (
	ByCumulative Sort = "cumulative"
	BySelf       Sort = "self"
)

func (s Sort) of(m *python.Module) uint64 {
	if s == BySelf {
		return m.Self.Sum()
	}
	return m.Total.Sum()
}

func (s Sort) sorted(list []*python.Module) []*python.Module {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *python.Module) int { return compare(s.of(b), s.of(a)) })
	return list
}

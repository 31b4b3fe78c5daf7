package python

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// FileTime is a Python file and what its imports took themselves, in all processes.
type FileTime struct {
	File      *timeline.File
	Module    string
	Opens     int
	Processes int
	Self      timeline.Times
}

// Flat sums up the imports of each file over all processes, by self time, longest first.
func Flat(interpreters []*Interpreter) []*FileTime {
	byFile := map[*timeline.File]*FileTime{}
	var list []*FileTime
	seen := map[*timeline.File]*Interpreter{}
	for _, in := range interpreters {
		for _, m := range in.Modules {
			f := byFile[m.Open.File]
			if f == nil {
				f = &FileTime{File: m.Open.File, Module: m.Name}
				byFile[m.Open.File] = f
				list = append(list, f)
			}
			f.Opens++
			if seen[m.Open.File] != in {
				seen[m.Open.File] = in
				f.Processes++
			}
			f.Self.Add(&m.Self)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Self.Sum() > list[j].Self.Sum() })
	return list
}

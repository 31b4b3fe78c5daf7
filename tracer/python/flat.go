package python

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// FileTime is a Python file and how long everything took that its openers did before they opened the
// next one. That is at most the import's self time: it includes what the importer did afterwards.
type FileTime struct {
	File      *timeline.File
	Module    string
	Opens     int
	Processes int
	Until     timeline.Times
}

// Flat sums up by file over all processes, by time, longest first. The last file of each thread counts as
// opened, without time.
func Flat(interpreters []*Interpreter) []*FileTime {
	byFile := map[*timeline.File]*FileTime{}
	var list []*FileTime
	seen := map[*timeline.File]*Interpreter{}
	for _, in := range interpreters {
		for _, o := range in.Opens {
			f := byFile[o.File]
			if f == nil {
				f = &FileTime{File: o.File, Module: o.Module}
				byFile[o.File] = f
				list = append(list, f)
			}
			f.Opens++
			if seen[o.File] != in {
				seen[o.File] = in
				f.Processes++
			}
			if o.Until != nil {
				f.Until.Add(o.Until)
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Until.Sum() > list[j].Until.Sum() })
	return list
}

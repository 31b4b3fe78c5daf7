package export

import (
	"cmp"
	"iter"
	"slices"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// importEdge is the begin or the end of an import on its thread's track.
type importEdge struct {
	module     *python.Module
	at         uint64
	begins     bool
	confidence string // of the tree, at the begin of an import that no other asked for
}

// importEdges gives the edges of all imports, thread by thread, so that an import lies within the one whose
// module asked for it. Viewers would hang one into another if they overlapped. So they don't: when an
// import ends is inferred, and is mostly the least certain, so an end gives way.
func importEdges(tl *timeline.Timeline, interpreters []*python.Interpreter) iter.Seq[importEdge] {
	roots := map[int][]*python.Module{} // by Thread.Index
	confidence := map[*python.Module]string{}
	for _, in := range interpreters {
		for _, m := range in.Roots {
			thread := m.Open.Thread.Index
			roots[thread] = append(roots[thread], m)
			confidence[m] = in.Calibration.Confidence().String()
		}
	}
	return func(yield func(importEdge) bool) {
		for _, th := range tl.Threads {
			if !yieldImports(roots[th.Index], th.Start, th.End, confidence, yield) {
				return
			}
		}
	}
}

// yieldImports gives the imports that one module, or none, asked for, and those in them.
func yieldImports(list []*python.Module, from, to uint64, confidence map[*python.Module]string, yield func(importEdge) bool) bool {
	list = slices.SortedStableFunc(slices.Values(list), func(a, b *python.Module) int { return cmp.Compare(a.Start, b.Start) })
	for i, m := range list {
		until := to
		if i+1 < len(list) {
			until = min(to, max(from, list[i+1].Start))
		}
		start := min(max(m.Start, from), until)
		end := min(max(m.End, start), until)
		if !yield(importEdge{module: m, at: start, begins: true, confidence: confidence[m]}) ||
			!yieldImports(m.Children, start, end, confidence, yield) ||
			!yield(importEdge{module: m, at: end}) {
			return false
		}
	}
	return true
}

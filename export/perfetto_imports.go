package export

import (
	"cmp"
	"slices"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// imports shows each import as a slice on its thread's track, within the one whose module asked for it.
func (x *perfettoExport) imports(interpreters []*python.Interpreter) {
	roots := map[int][]*python.Module{} // by Thread.Index
	confidence := map[*python.Module]string{}
	for _, in := range interpreters {
		for _, m := range in.Roots {
			thread := m.Open.Thread.Index
			roots[thread] = append(roots[thread], m)
			confidence[m] = in.Calibration.Confidence().String()
		}
	}
	for _, th := range x.tl.Threads {
		x.modules(roots[th.Index], x.tl.Start, x.tl.End, func(m *python.Module, a *annotations) {
			a.text("confidence", confidence[m])
		})
	}
}

// modules writes imports that one module, or none, asked for, and those in them. A viewer would hang one
// into another if they overlapped. So they don't: when an import ends is inferred, and is mostly the least
// certain, so an end gives way.
func (x *perfettoExport) modules(list []*python.Module, from, to uint64, extra func(*python.Module, *annotations)) {
	list = slices.SortedStableFunc(slices.Values(list), func(a, b *python.Module) int { return cmp.Compare(a.Start, b.Start) })
	for i, m := range list {
		until := to
		if i+1 < len(list) {
			until = min(to, max(from, list[i+1].Start))
		}
		start := min(max(m.Start, from), until)
		end := min(max(m.End, start), until)
		t := x.track(m.Open.Thread, start)
		a := x.w.args()
		describeModule(a, m)
		if extra != nil {
			extra(m, a)
		}
		x.w.begin(t, start, "import", m.Name, a)
		x.modules(m.Children, start, end, nil)
		x.w.end(t, end)
	}
}

func describeModule(a *annotations, m *python.Module) {
	a.text("file", m.Open.File.Path)
	a.number("self_ns", int64(m.Self.Sum()))
	a.number("cpu_ns", int64(m.Total[timeline.Running]))
	a.number("runnable_ns", int64(m.Total[timeline.Runnable]))
	a.number("io_wait_ns", int64(m.Total[timeline.IOWait]))
	a.flag("recompiled", m.Open.Cache.Compiled())
	a.flag("again", m.Again)
	a.flag("end_not_seen", !m.EndSeen)
}

package export

import (
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// imports shows each import as a slice on its thread's track.
func (x *perfettoExport) imports(interpreters []*python.Interpreter) {
	for e := range importEdges(x.tl, interpreters) {
		t := x.track(e.module.Open.Thread, e.at)
		if !e.begins {
			x.w.end(t, e.at)
			continue
		}
		a := x.w.args()
		describeModule(a, e.module)
		a.text("confidence", e.confidence)
		x.w.begin(t, e.at, "import", e.module.Name, a)
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

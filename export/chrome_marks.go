package export

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
)

// beginRecording begins the recording's own span and says what was recorded, and what is missing.
func (x *chromeExport) beginRecording() {
	a := x.w.args()
	aboutMachine(a, x.tl.Header)
	if x.w.origin != 0 {
		a.number("time_0_is_ns_from_boot", int64(x.w.origin))
	}
	aboutRecording(a, x.tl.Timeline)
	x.w.begin(chromeRecording, x.tl.Start, "recording", a)
}

// endRecording ends it.
func (x *chromeExport) endRecording() {
	if !x.tl.Complete() {
		x.w.instant(chromeRecording, x.tl.End, "recording was cut off", x.w.args())
	}
	x.w.end(chromeRecording, x.tl.End)
}

// marks shows milestones, and what to fix: the costliest on top, each as long as the recording, since a
// finding is about all of it.
func (x *chromeExport) marks() {
	for _, m := range x.tl.Milestones {
		a := x.w.args()
		a.text("source", m.Source)
		if m.PID != 0 {
			a.number("pid", int64(m.PID))
		}
		x.w.instant(chromeMilestones, m.Time, m.Name, a)
	}
	for _, f := range x.tl.findings {
		a := x.w.args()
		a.text("id", f.ID)
		a.number("cost_ns", int64(min(f.Cost, 1<<62)))
		if f.Unit != "" {
			a.text("unit", f.Unit)
		}
		if f.PID != 0 {
			a.number("pid", int64(f.PID))
		}
		a.texts("evidence", f.Evidence)
		a.text("remedy", f.Remedy)
		x.w.begin(chromeFindings, x.tl.Start, fmt.Sprintf("at most %.3f s: %s", float64(f.Cost)/1e9, f.Title), a)
	}
	for range x.tl.findings {
		x.w.end(chromeFindings, x.tl.End)
	}
}

// lost marks where events are missing.
func (x *chromeExport) lost(e *event.Lost) {
	probe := event.Probe(e.Probe).String()
	a := x.w.args()
	a.text("probe", probe)
	a.text("reason", event.LostReason(e.Reason).String())
	a.number("count", int64(min(e.Count, 1<<62)))
	a.number("cpu", int64(e.CPU))
	at := min(max(e.Time, x.tl.Start), x.tl.End)
	x.w.instant(chromeLosses, at, probe+" events lost", a)
}

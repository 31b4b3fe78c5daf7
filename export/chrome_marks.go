package export

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// beginRecording begins the recording's own span and says what was recorded, and what is missing.
func (x *chromeExport) beginRecording() {
	h := x.tl.Header
	a := x.w.args()
	a.text("tool", h.Tool)
	a.text("kernel", h.Kernel)
	a.text("arch", h.Arch)
	a.text("machine", h.Machine)
	a.text("boot_id", h.BootID)
	a.texts("command", h.Command)
	if x.w.origin != 0 {
		a.number("time_0_is_ns_from_boot", int64(x.w.origin))
	}
	for _, p := range x.tl.Can.Statuses {
		if p.Status != tracefile.StatusOn {
			a.text("probe_"+p.Name, p.Status+": "+p.Reason)
		}
	}
	for _, l := range x.tl.Losses {
		a.number("lost_"+l.Probe+"_"+l.Reason, int64(min(l.Count, 1<<62)))
	}
	if n := len(x.tl.Problems); n > 0 {
		a.number("damaged_places", int64(n))
	}
	if x.tl.Complete() {
		a.text("end", x.tl.Trailer.Reason)
	}
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

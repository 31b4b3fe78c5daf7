package export

import (
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// arguments are what a format tells beside a span, each by its name.
type arguments interface {
	text(name, value string)
	texts(name string, values []string)
	number(name string, value int64)
}

// aboutMachine tells what was recorded, and on what.
func aboutMachine(a arguments, h *tracefile.Header) {
	a.text("tool", h.Tool)
	a.text("kernel", h.Kernel)
	a.text("arch", h.Arch)
	a.text("machine", h.Machine)
	a.text("boot_id", h.BootID)
	a.texts("command", h.Command)
}

// aboutRecording tells how whole it is: probes that are not fully on, losses, damage, why it ended.
func aboutRecording(a arguments, tl *timeline.Timeline) {
	for _, p := range tl.Can.Statuses {
		if p.Status != tracefile.StatusOn {
			a.text("probe_"+p.Name, p.Status+": "+p.Reason)
		}
	}
	for _, l := range tl.Losses {
		a.number("lost_"+l.Probe+"_"+l.Reason, int64(min(l.Count, 1<<62)))
	}
	if n := len(tl.Problems); n > 0 {
		a.number("damaged_places", int64(n))
	}
	if tl.Complete() {
		a.text("end", tl.Trailer.Reason)
	}
}

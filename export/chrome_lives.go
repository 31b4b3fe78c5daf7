package export

import (
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// beginRecording marks when the recording began and says what was recorded.
func (x *chromeExport) beginRecording(tl *timeline.Timeline) {
	h := tl.Header
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
	for _, p := range tl.Can.Statuses {
		if p.Status != tracefile.StatusOn {
			a.text("probe_"+p.Name, p.Status+": "+p.Reason)
		}
	}
	x.w.instant(cpuGroup, tl.Start, "recording begins", scopeGlobal, a)
}

// endRecording marks its end, and says what is missing.
func (x *chromeExport) endRecording(tl *timeline.Timeline) {
	a := x.w.args()
	name := "recording was cut off"
	if tl.Complete() {
		name = "recording ends"
		a.text("reason", tl.Trailer.Reason)
	}
	for _, l := range tl.Losses {
		a.number("lost_"+l.Probe+"_"+l.Reason, int64(min(l.Count, 1<<62)))
	}
	a.number("damaged_places", int64(len(tl.Problems)))
	x.w.instant(cpuGroup, tl.End, name, scopeGlobal, a)
}

// beginLives begins each thread's span: the rest of its track lies within. It also marks execs.
func (x *chromeExport) beginLives(tl *timeline.Timeline) {
	for _, p := range tl.Processes {
		for i, th := range p.Threads {
			a := x.w.args()
			x.tracks.identify(a, th)
			if i == 0 {
				describeProcess(a, p)
			}
			a.bool("began_before_recording", th.Existed)
			a.bool("alive_at_end", !th.Exited && th.ContinuedAs == nil)
			x.w.begin(x.tracks.of(th), th.Start, x.tracks.name(th), a)
		}
		for _, e := range p.Execs {
			x.exec(p, e)
		}
	}
}

func describeProcess(a *args, p *timeline.Process) {
	if p.PPID != 0 {
		a.number("ppid", int64(p.PPID))
	}
	if p.Exe != "" {
		a.text("exe", p.Exe)
	}
	describeArgv(a, p.Argv, p.ArgvCut)
	if p.Unit != nil {
		a.text("unit", p.Unit.Name)
	}
	if p.Cgroup != "" {
		a.text("cgroup", p.Cgroup)
	}
	if p.StartKnown {
		a.number("start_ns", int64(min(p.Start, 1<<62)))
	}
	if p.Status == nil {
		return
	}
	if signal := *p.Status & 0x7f; signal != 0 {
		a.number("killed_by_signal", int64(signal))
	} else {
		a.number("exit_code", int64(*p.Status>>8&0xff))
	}
}

func describeArgv(a *args, argv []string, cut bool) {
	if len(argv) > 0 {
		a.texts("argv", argv)
	}
	if cut {
		a.bool("argv_cut", true)
	}
}

// exec marks a successful exec on the track of the thread that is the process's first from then on.
func (x *chromeExport) exec(p *timeline.Process, e *timeline.Exec) {
	a := x.w.args()
	a.text("name", e.Name)
	if e.Exe != nil {
		a.text("exe", e.Exe.Path)
	}
	describeArgv(a, e.Argv, e.ArgvCut)
	x.w.instant(x.tracks.of(firstThread(p, e.Time)), e.Time, "exec "+baseName(e.Name), scopeThread, a)
}

// firstThread is the one with the process's own id at a moment.
func firstThread(p *timeline.Process, at uint64) *timeline.Thread {
	found := p.Threads[0]
	for _, th := range p.Threads {
		if th.TID == p.PID && th.Start <= at {
			found = th
		}
	}
	return found
}

// endLives ends every thread's span, also of those that lived on: at the end of the recording.
func (x *chromeExport) endLives(tl *timeline.Timeline) {
	for _, th := range tl.Threads {
		x.w.end(x.tracks.of(th), th.End)
	}
}

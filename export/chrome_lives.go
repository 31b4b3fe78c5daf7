package export

import "github.com/bootscope/bootscope/tracer/timeline"

// beginLives begins each thread's span: the rest of its track lies within. It also marks execs, and shows
// imports unless the states are still to come between them.
func (x *chromeExport) beginLives() {
	for _, p := range x.tl.Processes {
		for i, th := range p.Threads {
			a := x.w.args()
			x.tracks.identify(a, th)
			if i == 0 {
				describeProcess(a, p)
			}
			a.bool("began_before_recording", th.Existed)
			a.bool("alive_at_end", !th.Exited && th.ContinuedAs == nil)
			x.w.begin(x.tracks.of(th), th.Start, x.tracks.name(th), a)
			if !x.options.Compat {
				x.importsUntil(th, th.End)
			}
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
	x.w.instant(x.tracks.of(firstThread(p, e.Time)), e.Time, "exec "+baseName(e.Name), a)
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
func (x *chromeExport) endLives() {
	for _, th := range x.tl.Threads {
		x.importsUntil(th, th.End)
		x.w.end(x.tracks.of(th), th.End)
	}
}

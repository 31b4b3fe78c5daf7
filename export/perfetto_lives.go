package export

import (
	"sort"

	pb "github.com/bootscope/bootscope/export/perfettopb"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// life shows a process's life, or the part of it that was recorded, and its execs. Viewers put tracks of
// one name side by side on as few rows as they need, so that a thousand short processes don't take a
// thousand rows.
func (x *perfettoExport) life(unit perfettoTrack, p *timeline.Process) {
	t := numbered(lifeTracks, p.Threads[0].Index)
	name := p.Comm()
	if name == "" {
		name = "?"
	}
	x.describe(t, trackDescription{parent: unit, name: name})
	a := x.w.args()
	x.describeProcess(a, p)
	x.w.begin(t, x.within(p.Start), "process", processName(p), a)
	for _, e := range p.Execs {
		x.exec(t, p, e)
	}
	if p.Ended {
		x.w.end(t, x.within(p.End))
	}
}

func (x *perfettoExport) describeProcess(a *annotations, p *timeline.Process) {
	a.number("pid", int64(p.PID))
	if p.PPID != 0 {
		a.number("ppid", int64(p.PPID))
	}
	a.text("exe", p.Exe)
	a.texts("argv", p.Argv)
	a.flag("argv_cut", p.ArgvCut)
	a.text("cgroup", p.Cgroup)
	if p.StartKnown {
		a.number("start_ns", int64(p.Start))
	}
	a.flag("began_before_recording", p.Existed)
	if p.Status == nil {
		return
	}
	if signal := *p.Status & 0x7f; signal != 0 {
		a.number("killed_by_signal", int64(signal))
	} else {
		a.number("exit_code", int64(*p.Status>>8&0xff))
	}
}

// exec marks an exec, and gives the process its new command line.
func (x *perfettoExport) exec(t perfettoTrack, p *timeline.Process, e *timeline.Exec) {
	a := x.w.args()
	a.text("name", e.Name)
	if e.Exe != nil {
		a.text("exe", e.Exe.Path)
	}
	a.texts("argv", e.Argv)
	a.flag("argv_cut", e.ArgvCut)
	x.w.instant(t, e.Time, "exec", "exec "+baseName(e.Name), a)

	cmdline := e.Argv
	if len(cmdline) == 0 {
		cmdline = []string{e.Name}
	}
	x.part.Reset()
	x.process(p.PID, p.PPID, cmdline)
	x.message.Reset()
	x.message.Message(pb.TreeProcesses, &x.part)
	x.w.write(e.Time, pb.PacketProcessTree, &x.message)
}

// process fills in x.part. A reader takes the same id with another parent for another process.
func (x *perfettoExport) process(pid, ppid uint32, cmdline []string) {
	x.part.Int(pb.ProcessPID, int64(int32(pid)))
	x.part.Int(pb.ProcessPPID, int64(int32(ppid)))
	for _, s := range cmdline {
		x.part.String(pb.ProcessCmdline, s)
	}
}

// task tells of a thread that /proc showed, unless its fork was seen.
func (x *perfettoExport) task(e *event.Task) {
	th := x.announce(e.TID, e.Time)
	if th == nil {
		return
	}
	x.message.Reset()
	if e.TID == e.PID {
		exe, argv := e.ExeAndArgv()
		comm := event.Comm(e.Comm)
		x.part.Reset()
		switch {
		case len(argv) > 0:
			x.process(e.PID, e.Parent, argv)
		case exe != "":
			x.process(e.PID, e.Parent, []string{exe})
		default:
			x.process(e.PID, e.Parent, []string{comm})
		}
		x.part.Uint(pb.ProcessStart, e.Start)
		if e.KernelThread != 0 {
			x.part.Bool(pb.ProcessKernel, true)
			x.part.Bool(pb.ProcessCommAsCmd, len(argv) == 0 && exe == "")
		}
		x.message.Message(pb.TreeProcesses, &x.part)
	}
	x.thread(th)
	x.w.write(x.within(e.Time), pb.PacketProcessTree, &x.message)
}

// thread adds a thread to a process tree. A reader keeps this name whatever comes later, so it is the
// last one.
func (x *perfettoExport) thread(th *timeline.Thread) {
	x.parts.Reset()
	x.parts.Int(pb.ThreadTID, int64(int32(th.TID)))
	x.parts.String(pb.ThreadName, th.Comm)
	x.parts.Int(pb.ThreadTGID, int64(int32(th.Process.PID)))
	x.message.Message(pb.TreeThreads, &x.parts)
}

// unannounced tells of the threads of which neither a fork nor /proc did.
func (x *perfettoExport) unannounced() {
	for _, th := range x.tl.Threads {
		if x.announced[th.Index] {
			continue
		}
		x.message.Reset()
		if p := th.Process; th.TID == p.PID {
			x.part.Reset()
			x.process(p.PID, p.PPID, []string{p.Comm()})
			x.message.Message(pb.TreeProcesses, &x.part)
		}
		x.thread(th)
		x.w.write(x.within(th.Start), pb.PacketProcessTree, &x.message)
	}
}

// lifeTable finds the thread that had an id at a moment: ids are used again.
type lifeTable map[uint32][]*timeline.Thread

func newLifeTable(tl *timeline.Timeline) lifeTable {
	t := lifeTable{}
	for _, th := range tl.Threads {
		t[th.TID] = append(t[th.TID], th)
	}
	return t
}

// find returns the latest thread with the id that had begun by then, or the first of all.
func (t lifeTable) find(tid uint32, at uint64) *timeline.Thread {
	lives := t[tid]
	if len(lives) == 0 {
		return nil
	}
	begun := sort.Search(len(lives), func(i int) bool { return lives[i].Start > at })
	return lives[max(begun, 1)-1]
}

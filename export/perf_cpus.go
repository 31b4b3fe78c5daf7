package export

import (
	"encoding/binary"
	"slices"

	"github.com/bootscope/bootscope/export/perfdata"
	"github.com/bootscope/bootscope/tracer/event"
)

// perfCPU is what readers were told of a CPU. They take the time between two switches for the run time
// of the thread that the second one names. So each switch must take off the thread that the one before
// has put on, also where the recording begins, ends or has a gap.
type perfCPU struct {
	tid   uint32 // that runs; 0 is none
	since uint64
}

// perfStates are prev_state as the kernel reports it since 4.14.
var perfStates = map[event.TaskState]uint64{
	event.StatePreempted: 0x100,
	event.StateYielded:   0,
	event.StateSleeping:  1,
	event.StateBlocked:   2,
	event.StateIoWait:    2,
	event.StateStopped:   4,
	event.StateDead:      0x10,
	event.StateIdle:      0x80,
}

func (x *perfExport) cpu(id uint32) *perfCPU {
	for int(id) >= len(x.cpus) {
		x.cpus = append(x.cpus, perfCPU{})
	}
	return &x.cpus[id]
}

// onSwitch tells of a switch.
func (x *perfExport) onSwitch(e *event.Switch, w *perfdata.When) {
	x.isRunning(w, e.TID)
	x.switchTo(w, e.Next, event.TaskState(e.State))
	if t := x.task(e.TID, w.Time); t != nil && event.TaskState(e.State) == event.StateDead {
		x.exit(t, w)
	}
}

// isRunning puts a thread on the CPU of w if readers don't know it there: something was lost.
func (x *perfExport) isRunning(w *perfdata.When, tid uint32) {
	if x.cpu(w.CPU).tid != tid {
		x.switchTo(w, tid, event.StateYielded)
	}
}

// takeOver notes that the thread on the CPU of w has another id since it called exec: no switch tells that.
func (x *perfExport) takeOver(w *perfdata.When, tid uint32) {
	runs := x.cpu(w.CPU).tid
	if runs == 0 || runs == tid || tid == 0 {
		return
	}
	if t := x.task(runs, w.Time); t != nil && t.th.ContinuedAs != nil && t.th.ContinuedAs.TID == tid {
		x.switchTo(w, tid, event.StateYielded)
	}
}

// switchTo puts a thread on the CPU of w, in place of the one that runs there.
func (x *perfExport) switchTo(w *perfdata.When, next uint32, state event.TaskState) {
	c := x.cpu(w.CPU)
	prev := *c
	*c = perfCPU{tid: next, since: w.Time}
	at := &perfdata.When{Time: w.Time, CPU: w.CPU, TID: prev.tid, PID: prev.tid}
	from, to := x.task(prev.tid, w.Time), x.task(next, w.Time)
	if from != nil {
		at.PID = from.pid
	}
	if to != nil {
		to.cpu = w.CPU
	}
	if !x.tracepoints {
		return
	}
	if prev.tid == 0 {
		state = event.StateYielded // as the kernel reports the idle task
	} else {
		x.ranFor(at, from, w.Time-prev.since)
	}
	b := perfFormats[perfSwitch].AppendCommon(x.raw[:0], prev.tid)
	b = appendTask(b, from, prev.tid)
	b = binary.LittleEndian.AppendUint32(b, notRecorded)
	b = binary.LittleEndian.AppendUint64(b, perfStates[state])
	b = appendTask(b, to, next)
	x.raw = binary.LittleEndian.AppendUint32(b, notRecorded)
	x.r.Tracepoint(at, perfSwitch, x.raw)
}

// ranFor tells how long a thread ran that leaves its CPU: perf sched latency takes it from there.
func (x *perfExport) ranFor(w *perfdata.When, t *perfTask, ns uint64) {
	b := perfFormats[perfRuntime].AppendCommon(x.raw[:0], w.TID)
	b = appendTask(b, t, w.TID)
	b = binary.LittleEndian.AppendUint32(b, 0)
	x.raw = binary.LittleEndian.AppendUint64(b, ns)
	x.r.Tracepoint(w, perfRuntime, x.raw)
}

// beginCPUs puts on each CPU what ran there when the recording began.
func (x *perfExport) beginCPUs() {
	var ids []uint16
	for id := range x.begin.running {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if tid := x.begin.running[id]; tid != 0 {
			x.switchTo(&perfdata.When{Time: x.tl.Start, CPU: uint32(id)}, tid, event.StateYielded)
		}
	}
}

// endCPUs takes the threads off at the end of the recording. Where it was cut off, nothing tells how long
// they ran.
func (x *perfExport) endCPUs() {
	for id := range x.cpus {
		if x.cpus[id].tid != 0 && x.tl.Complete() {
			x.switchTo(&perfdata.When{Time: x.tl.End, CPU: uint32(id)}, 0, event.StatePreempted)
		}
	}
}

// loseCPU takes the thread off a CPU that switches of were lost of: what ran there is not known until
// the next one.
func (x *perfExport) loseCPU(w *perfdata.When) {
	if x.cpu(w.CPU).tid != 0 {
		x.switchTo(w, 0, event.StateYielded)
	}
}

package export

import (
	"encoding/binary"

	"github.com/bootscope/bootscope/export/perfdata"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// The events of a file with tracepoints, in their order.
const (
	perfSwitch = iota
	perfWaking
	perfWakeup
	perfRuntime
)

// perfFormats are laid out as the kernel does it on 64-bit machines. What is not recorded is -1.
var perfFormats = []perfdata.Format{
	perfSwitch: {System: "sched", Name: "sched_switch", ID: 1, Fields: []perfdata.Field{
		{Declaration: "char prev_comm[16]", Size: 16}, {Declaration: "pid_t prev_pid", Size: 4, Signed: true},
		{Declaration: "int prev_prio", Size: 4, Signed: true}, {Declaration: "long prev_state", Size: 8, Signed: true},
		{Declaration: "char next_comm[16]", Size: 16}, {Declaration: "pid_t next_pid", Size: 4, Signed: true},
		{Declaration: "int next_prio", Size: 4, Signed: true},
	}, Print: `"prev_comm=%s prev_pid=%d prev_state=%s%s ==> next_comm=%s next_pid=%d", REC->prev_comm, REC->prev_pid, ` +
		`(REC->prev_state & 255) ? __print_flags(REC->prev_state & 255, "|", { 1, "S" }, { 2, "D" }, { 4, "T" }, { 16, "X" }, ` +
		`{ 128, "I" }) : "R", REC->prev_state & 256 ? "+" : "", REC->next_comm, REC->next_pid`},
	perfWaking: {System: "sched", Name: "sched_waking", ID: 2, Fields: wakingFields, Print: wakingPrint},
	perfWakeup: {System: "sched", Name: "sched_wakeup", ID: 3, Fields: wakingFields, Print: wakingPrint},
	perfRuntime: {System: "sched", Name: "sched_stat_runtime", ID: 4, Fields: []perfdata.Field{
		{Declaration: "char comm[16]", Size: 16}, {Declaration: "pid_t pid", Size: 4, Signed: true},
		{Declaration: "int reserved", Size: 4, Signed: true}, {Declaration: "u64 runtime", Size: 8},
	}, Print: `"comm=%s pid=%d runtime=%Lu [ns]", REC->comm, REC->pid, REC->runtime`},
}

var wakingFields = []perfdata.Field{
	{Declaration: "char comm[16]", Size: 16}, {Declaration: "pid_t pid", Size: 4, Signed: true},
	{Declaration: "int prio", Size: 4, Signed: true}, {Declaration: "int target_cpu", Size: 4, Signed: true},
}

const wakingPrint = `"comm=%s pid=%d target_cpu=%03d", REC->comm, REC->pid, REC->target_cpu`

const notRecorded = ^uint32(0)

// onWaking tells of a thread that becomes runnable, and tells it twice: perf sched timehist looks at
// sched_waking, and the perf sched latency of Linux 6.1 at sched_wakeup only. Later ones ignore the latter
// where there are both.
func (x *perfExport) onWaking(e *event.Waking, w *perfdata.When) {
	t := x.task(e.Target, w.Time)
	if e.TID != 0 {
		x.isRunning(w, e.TID)
	}
	if !x.tracepoints {
		return
	}
	cpu := notRecorded
	if t != nil {
		cpu = t.cpu // the tracepoint comes before the scheduler chooses another
	}
	for _, i := range []int{perfWaking, perfWakeup} {
		b := perfFormats[i].AppendCommon(x.raw[:0], e.TID)
		b = appendTask(b, t, e.Target)
		b = binary.LittleEndian.AppendUint32(b, notRecorded)
		x.raw = binary.LittleEndian.AppendUint32(b, cpu)
		x.r.Tracepoint(w, i, x.raw)
	}
}

// appendTask appends a thread's name in 16 bytes, and its id.
func appendTask(b []byte, t *perfTask, tid uint32) []byte {
	name := ""
	switch {
	case t != nil:
		name = t.comm
	case tid == 0:
		name = "swapper"
	}
	comm := event.CommBytes(name)
	return binary.LittleEndian.AppendUint32(append(b, comm[:]...), tid)
}

// period is the time between two samples.
func (x *perfExport) period() uint64 {
	if hz := x.tl.Header.SampleHz; hz > 0 {
		return 1e9 / uint64(hz)
	}
	return 1
}

// eventOf returns the event of the file whose records a probe gives; not every probe gives some.
func (x *perfExport) eventOf(probe string) (int, bool) {
	switch probe {
	case event.ProbeSched.String():
		return perfSwitch, x.tracepoints
	case event.ProbeSample.String(), event.ProbeMapping.String(), event.ProbeProcess.String():
		return x.clock, true
	}
	return 0, false
}

func (x *perfExport) onLost(e *event.Lost, w *perfdata.When) {
	l := timeline.Loss{Probe: event.Probe(e.Probe).String(), Reason: event.LostReason(e.Reason).String()}
	if e.Probe == uint16(event.ProbeSched) {
		x.loseCPU(w)
	}
	if i, ok := x.eventOf(l.Probe); ok {
		x.r.Lost(w, i, e.Count)
		x.lost[l] += e.Count
	}
}

// endLosses tells of the losses that were only known at the end.
func (x *perfExport) endLosses() {
	w := &perfdata.When{Time: x.tl.End}
	for _, l := range x.tl.Losses {
		i, ok := x.eventOf(l.Probe)
		told := x.lost[timeline.Loss{Probe: l.Probe, Reason: l.Reason}]
		if ok && l.Count > told {
			x.r.Lost(w, i, l.Count-told)
		}
	}
}

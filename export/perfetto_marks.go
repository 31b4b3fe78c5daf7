package export

import (
	"fmt"

	pb "github.com/bootscope/bootscope/export/perfettopb"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/findings"
)

// machine tells of the machine and its clocks.
func (x *perfettoExport) machine() {
	h, m := x.tl.Header, &x.message
	x.part.Reset()
	x.part.String(pb.UtsnameSysname, "Linux")
	x.part.String(pb.UtsnameRelease, h.Kernel)
	x.part.String(pb.UtsnameMachine, h.Arch)
	m.Reset()
	m.Message(pb.SystemUtsname, &x.part)
	m.Int(pb.SystemPageSize, int64(h.PageSize))
	m.Int(pb.SystemCPUs, int64(h.CPUs))
	x.w.write(x.tl.Start, pb.PacketSystemInfo, m)

	// A reader wants to know first of which clock the times are.
	x.clocks(clockReading{pb.ClockBoottime, x.tl.Start})
	for _, c := range x.tl.Clocks {
		x.clocks(clockReading{pb.ClockBoottime, c.Boot}, clockReading{pb.ClockRealtime, c.Realtime},
			clockReading{pb.ClockMonotonic, c.Monotonic})
	}
}

type clockReading struct{ clock, time uint64 }

// clocks writes readings of several clocks at one moment, the first of which is that of all times here.
func (x *perfettoExport) clocks(readings ...clockReading) {
	m := &x.message
	m.Reset()
	for _, r := range readings {
		x.part.Reset()
		x.part.Uint(pb.ClockID, r.clock)
		x.part.Uint(pb.ClockTimestamp, r.time)
		m.Message(pb.SnapshotClocks, &x.part)
	}
	m.Uint(pb.SnapshotPrimaryClock, readings[0].clock)
	x.w.write(readings[0].time, pb.PacketClockSnapshot, m)
}

// beginRecording begins the recording's own slice and says what was recorded.
func (x *perfettoExport) beginRecording() {
	x.describe(recordingTrack, trackDescription{name: "Recording", help: "What was recorded, on what machine.", rank: 1})
	a := x.w.args()
	aboutMachine(a, x.tl.Header)
	aboutRecording(a, x.tl)
	x.w.begin(recordingTrack, x.tl.Start, "recording", "recording", a)
}

// endRecording ends it. That of a recording that was cut off has no end.
func (x *perfettoExport) endRecording() {
	if x.tl.Complete() {
		x.w.end(recordingTrack, x.tl.End)
		return
	}
	x.w.instant(recordingTrack, x.tl.End, "recording", "recording was cut off", x.w.args())
}

// within moves a moment into the recording.
func (x *perfettoExport) within(at uint64) uint64 { return min(max(at, x.tl.Start), x.tl.End) }

// lost marks where events are missing.
func (x *perfettoExport) lost(e *event.Lost) {
	if !x.losses {
		x.losses = true
		x.describe(lossTrack, trackDescription{
			name: "Lost events", help: "Where events are missing, at the time of the last one before.", rank: 2,
		})
	}
	if event.Probe(e.Probe) == event.ProbeSched {
		x.sched.lose(e)
	}
	probe, reason := event.Probe(e.Probe).String(), event.LostReason(e.Reason).String()
	a := x.w.args()
	a.text("probe", probe)
	a.text("reason", reason)
	a.number("count", int64(min(e.Count, 1<<62)))
	a.number("cpu", int64(e.CPU))
	x.w.instant(lossTrack, x.within(e.Time), "loss", probe+" events lost", a)
}

// milestones marks them on a track of their own.
func (x *perfettoExport) milestones() {
	if len(x.tl.Milestones) == 0 {
		return
	}
	x.describe(milestoneTrack, trackDescription{name: "Milestones", help: "Moments that somebody named.", rank: 3})
	for _, m := range x.tl.Milestones {
		a := x.w.args()
		a.text("source", m.Source)
		if m.PID != 0 {
			a.number("pid", int64(m.PID))
		}
		x.w.instant(milestoneTrack, m.Time, "milestone", m.Name, a)
	}
}

// findings shows what to fix on a track of its own: the costliest on top, each as long as the recording,
// since a finding is about all of it.
func (x *perfettoExport) findings(list []findings.Finding) {
	if len(list) == 0 {
		return
	}
	x.describe(findingTrack, trackDescription{name: "Findings", help: "What to fix, with the most that it can save.", rank: 4})
	for _, f := range list {
		a := x.w.args()
		a.text("id", f.ID)
		a.number("cost_ns", int64(f.Cost))
		a.text("unit", f.Unit)
		if f.PID != 0 {
			a.number("pid", int64(f.PID))
		}
		a.texts("evidence", f.Evidence)
		a.text("remedy", f.Remedy)
		x.w.begin(findingTrack, x.tl.Start, "finding", fmt.Sprintf("at most %.3f s: %s", float64(f.Cost)/1e9, f.Title), a)
	}
	for range list {
		x.w.end(findingTrack, x.tl.End)
	}
}

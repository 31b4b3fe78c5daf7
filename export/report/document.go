package report

import (
	"strconv"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

func documentOf(r *Report) *document {
	return &document{
		Schema:     Schema,
		Trace:      traceOf(r),
		Milestones: milestonesOf(r),
		Phases:     phasesOf(r),
		Processes:  each(r.Processes, r.processOf),
		Units:      each(r.Units, r.unitOf),
		Files:      each(usedFiles(r), r.fileOf),
		Python:     pythonOf(r),
		CPUFreq:    each(r.Policies, r.cpufreqOf),
		Memory:     each(r.Memory, r.memoryOf),
		Shortage:   r.reclaimsOf(&r.Shortage),
		Findings:   findingsOf(r),
		Chain:      chainOf(r),
		Initcalls:  initcallsOf(r),
		Steps:      clockStepsOf(r),
		Budget:     each(r.Spending, spendingOf),
	}
}

// each converts a list; the result is never nil, which would be null.
func each[A, B any](list []A, convert func(A) B) []B {
	out := make([]B, len(list))
	for i := range list {
		out[i] = convert(list[i])
	}
	return out
}

func traceOf(r *Report) traceJSON {
	h := r.Header
	t := traceJSON{
		Duration: secs(r.Duration()), Start: secs(r.Start), End: secs(r.End),
		Kernel: validUTF8(h.Kernel), Arch: validUTF8(h.Arch), Machine: named(h.Machine), CPUs: h.CPUs, Offline: absencesOf(r),
		BootID: validUTF8(h.BootID), Tool: validUTF8(h.Tool), Complete: r.Complete(),
		Command: validAll(h.Command), Events: r.Events,
		Lost: lostJSON{Total: r.Lost(), ByProbe: map[string]uint64{}},
	}
	for _, l := range r.Losses {
		t.Lost.ByProbe[validUTF8(l.Probe)] += l.Count
	}
	t.Problems = []problemJSON{}
	for _, p := range r.Problems {
		t.Problems = append(t.Problems, problemJSON{p.Offset, p.Length, validUTF8(p.Cause)})
	}
	t.Probes = []probeJSON{}
	for _, p := range r.Can.Statuses {
		t.Probes = append(t.Probes, probeJSON{validUTF8(p.Name), validUTF8(p.Status), named(p.Via), named(p.Reason)})
	}
	if tr := r.Trailer; tr != nil {
		s := tr.Self
		t.EndReason, t.ExitStatus = named(tr.Reason), tr.ExitStatus
		t.Self = selfJSON{known(secs(s.CPU), true), known(secs(s.StartCPU), true), known(secs(s.BPF), true),
			&s.MaxRSS, known(secs(s.Attach), true), &s.BytesWritten}
	}
	return t
}

func (r *Report) processOf(p *timeline.Process) processJSON {
	cpu, cpuKnown := r.cpuOf(p)
	j := processJSON{
		PID: p.PID, Incarnation: p.Incarnation, PPID: known(p.PPID, p.PPID != 0),
		Comm: named(p.Comm()), Exe: named(p.Exe), Argv: validAll(p.Argv), ArgvCut: p.ArgvCut, Cgroup: named(p.Cgroup),
		Kernel: p.Kernel, Recorder: p.Recorder, Command: p.Command, Uncertain: p.Uncertain, Existed: p.Existed,
		Start: known(secs(p.Start), p.StartKnown), End: known(secs(p.End), p.Ended),
		Threads: len(p.Threads), CPU: known(secs(cpu), cpuKnown), statesJSON: r.statesOf(&p.Times),
		FaultEvents: known(p.FaultEvents, r.Can.Faults), Samples: known(p.Samples, r.Can.Samples),
		Opens: known(p.Opens, r.Can.Opens), FailedOpens: known(p.FailedOpens, r.Can.Opens),
		Sleeps: each(waitsOf(p), r.sleepOf),
	}
	j.readsJSON, j.syncsJSON, j.reclaimsJSON = r.readsOf(&p.Reads), r.syncsOf(&p.Syncs), r.reclaimsOf(&p.Reclaims)
	j.CPUAtTop = secsKnown(r.speeds.atTop(p))
	j.Frequencies = map[string]secs{}
	for _, t := range r.speeds.of(p) {
		j.Frequencies[strconv.FormatUint(uint64(t.KHz), 10)] = secs(t.Time)
	}
	j.FaultTime = known(secs(p.FaultTime), r.Can.Faults && r.Can.Syscalls)
	if p.Unit != nil {
		j.Unit = named(p.Unit.Name)
	}
	if p.Status != nil {
		j.ExitCode, j.Signal = exitOf(*p.Status)
	}
	if c := p.Counters; c != nil {
		j.MinorFaults, j.MajorFaults = &c.MinorFaults, &c.MajorFaults
		j.StorageRead, j.StorageWritten = known(c.StorageRead, c.StorageKnown), known(c.StorageWritten, c.StorageKnown)
	}
	return j
}

// exitOf splits a wait status as a shell does: the code of a process that a signal ended is 128 more than
// the signal.
func exitOf(status int32) (code, signal *int) {
	if s := int(status & 0x7f); s != 0 {
		return known(128+s, true), &s
	}
	return known(int(status>>8&0xff), true), nil
}

func (r *Report) statesOf(t *timeline.Times) statesJSON {
	on := r.Can.Sched
	return statesJSON{
		Runnable: known(secs(t[timeline.Runnable]), on),
		IOWait:   known(secs(t[timeline.IOWait]), r.Can.IOWait),
		Blocked:  known(secs(t[timeline.Blocked]), on),
		Sleep:    known(secs(t[timeline.Sleeping]), on),
		Stopped:  known(secs(t[timeline.Stopped]), on),
		Unknown:  secs(t[timeline.Unknown]),
	}
}

func (r *Report) sleepOf(w *wait) sleepJSON {
	return sleepJSON{
		known(w.Syscall, w.Syscall != event.NoSyscall), w.Compat, r.in(w), w.State.String(), secs(w.Time), w.Count,
	}
}

func pythonOf(r *Report) []pythonJSON {
	list := []pythonJSON{}
	for _, f := range r.Python {
		list = append(list, pythonJSON{
			Module: validUTF8(f.Module), File: validUTF8(f.File.Path), Opens: f.Opens, Processes: f.Processes,
			Time:       secs(f.Self.Sum()),
			CPU:        known(secs(f.Self[timeline.Running]), r.Can.Sched),
			statesJSON: r.statesOf(&f.Self),
		})
	}
	return list
}

func (r *Report) cpufreqOf(p *timeline.FreqPolicy) cpufreqJSON {
	j := cpufreqJSON{
		Policy: validUTF8(p.Name), CPUs: append([]int{}, p.CPUs...), Governor: named(p.Governor),
		Transitions: known(p.Transitions, r.Can.CPUFreq), Time: map[string]secs{},
	}
	for _, t := range p.Times {
		j.Time[strconv.FormatUint(uint64(t.KHz), 10)] += secs(t.Time)
	}
	return j
}

func findingsOf(r *Report) []findingJSON {
	list := []findingJSON{}
	for _, f := range r.Findings {
		list = append(list, findingJSON{
			ID: f.ID, Title: validUTF8(f.Title), Cost: secs(f.Cost), Unit: named(f.Unit),
			PID: known(f.PID, f.PID != 0), Evidence: validAll(f.Evidence), Remedy: validUTF8(f.Remedy),
		})
	}
	return list
}

// secsKnown is a time, or null where it isn't known.
func secsKnown(ns uint64, is bool) *secs { return known(secs(ns), is) }

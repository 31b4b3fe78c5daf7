package export

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/bootscope/bootscope/export/perfdata"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// writePerf writes a perf.data file with the samples and the scheduler's tracepoints.
func writePerf(w io.Writer, source tracefile.Source) error { return writePerfData(w, source, true) }

// writePerfSamples leaves the tracepoints out, for tools that can't read those.
func writePerfSamples(w io.Writer, source tracefile.Source) error {
	return writePerfData(w, source, false)
}

// writePerfData reads the source once for the threads there are, and as often as perfdata wants the
// records. So memory grows with the number of threads, not of events.
func writePerfData(w io.Writer, source tracefile.Source, tracepoints bool) error {
	begin := newPerfBegin(source)
	tl, err := timeline.Build(begin)
	if err != nil {
		return err
	}
	file := &perfdata.File{Info: perfInfo(tl)}
	if tracepoints {
		file.Formats = perfFormats
		for i := range perfFormats {
			file.Events = append(file.Events, perfTracepoint(&perfFormats[i]))
		}
	}
	x := &perfExport{tl: tl, begin: begin, tracepoints: tracepoints, clock: len(file.Events)}
	file.Events = append(file.Events, &perfdata.Event{
		Name: "cpu-clock", Type: perfdata.TypeSoftware, Config: perfdata.ConfigCPUClock,
		Hz: uint64(max(tl.Header.SampleHz, 0)), NotIdle: true,
	})
	return file.Write(w, func(r *perfdata.Records) error { return x.emit(source, r) })
}

func perfTracepoint(f *perfdata.Format) *perfdata.Event {
	return &perfdata.Event{Name: f.System + ":" + f.Name, Type: perfdata.TypeTracepoint, Config: uint64(f.ID)}
}

func perfInfo(tl *timeline.Timeline) perfdata.Info {
	h := tl.Header
	return perfdata.Info{
		Release: h.Kernel, Arch: h.Arch, Tool: h.Tool, CPUs: h.CPUs, Online: len(h.Online), PageSize: h.PageSize,
		Command:  h.Command,
		KernelID: kernelStandIn(h.BootID),
	}
}

// kernelStandIn stands for the kernel's build id, which the trace doesn't have: the id of the boot. Without
// any, perf would take the addresses to be of the kernel that it runs on, and show wrong names. With
// --kallsyms and the recorded machine's file it shows the right ones.
func kernelStandIn(bootID string) []byte {
	id, err := hex.DecodeString(strings.ReplaceAll(bootID, "-", ""))
	if err != nil || len(id) == 0 {
		return []byte("unknown kernel")
	}
	return id
}

// perfExport makes records of events.
type perfExport struct {
	tl          *timeline.Timeline
	begin       *perfBegin
	tracepoints bool
	clock       int // index of the event that is sampled

	r     *perfdata.Records
	tasks *perfTasks
	scan  perfScan
	cpus  []perfCPU
	lost  map[timeline.Loss]uint64 // told so far
	raw   []byte
}

// emit gives all records.
func (x *perfExport) emit(source tracefile.Source, r *perfdata.Records) error {
	x.r, x.tasks, x.scan, x.cpus = r, newPerfTasks(x.tl, x.begin.comms), perfScan{}, nil
	x.lost = map[timeline.Loss]uint64{}
	r.Kernel()
	x.beginTasks()
	x.beginCPUs()
	for e, err := range source.Events() {
		if err != nil {
			return fmt.Errorf("reading events: %w", err)
		}
		if r.Err() != nil {
			return r.Err()
		}
		x.add(e)
	}
	x.endCPUs()
	x.endLosses()
	return nil
}

// add makes records of an event. As in the timeline, what was recorded before the recording's start
// counts at its start: not every probe was attached, so samples would lack mappings, and are left out.
func (x *perfExport) add(e event.Event) {
	h := e.Head()
	found := x.scan.finds(e)
	if x.tl.Complete() && h.Time > x.tl.End {
		return
	}
	w := &perfdata.When{Time: max(h.Time, x.tl.Start), TID: h.TID, PID: h.PID, CPU: uint32(h.CPU)}
	t := x.task(h.TID, w.Time)
	if t != nil {
		w.PID = t.pid
	}
	x.takeOver(w, h.TID)
	switch e := e.(type) {
	case *event.Switch:
		x.onSwitch(e, w)
	case *event.Waking:
		x.onWaking(e, w)
	case *event.Sample:
		if e.Time >= x.tl.Start {
			x.r.Instruction(w, x.clock, e.IP, x.period(), e.Flags&event.SampleKernel != 0)
		}
	case *event.Mapping:
		if !found {
			x.mapping(e, w)
		}
	case *event.Fork:
		x.onFork(e, w, t)
	case *event.Rename:
		x.onRename(e, w)
	case *event.Exit:
		if !x.tl.Can.Sched { // else it goes on until a switch ends it
			x.exit(t, w)
		}
	case *event.Lost:
		x.onLost(e, w)
	}
}

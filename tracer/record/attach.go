//go:build linux

package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// An attached program, and what to close to take it off.
type attached struct {
	probe   event.Probe
	name    string
	program *ebpf.Program // nil for what is no program
	links   []io.Closer
}

func (a *attached) detach() {
	for _, l := range a.links {
		l.Close()
	}
	a.links = nil
}

const offByOption = "switched off by --without"

// attachProbes tries each probe's ways in order and tells what became of each.
func attachProbes(l *loader, off map[string]bool) ([]*attached, []tracefile.ProbeStatus) {
	var all []*attached
	var statuses []tracefile.ProbeStatus
	for _, p := range probes {
		if off[p.id.String()] {
			statuses = append(statuses, tracefile.ProbeStatus{
				Name: p.id.String(), Status: tracefile.StatusOff, Reason: offByOption})
			continue
		}
		programs, status := attachProbe(l, p)
		all = append(all, programs...)
		statuses = append(statuses, status)
	}
	return all, statuses
}

func attachProbe(l *loader, p probe) ([]*attached, tracefile.ProbeStatus) {
	var failures []string
	for _, w := range p.ways {
		programs, err := attachWay(l, p, w)
		if err == nil {
			status := tracefile.ProbeStatus{Name: p.id.String(), Status: w.status, Via: w.via}
			if w.note != "" {
				failures = append([]string{w.note}, failures...)
			}
			status.Reason = strings.Join(failures, "; ")
			return programs, status
		}
		failures = append(failures, fmt.Sprintf("%s: %v", w.via, err))
	}
	return nil, tracefile.ProbeStatus{Name: p.id.String(), Status: tracefile.StatusOff, Reason: strings.Join(failures, "; ")}
}

// attachWay attaches all programs of a way, or none.
func attachWay(l *loader, p probe, w way) ([]*attached, error) {
	var done []*attached
	undo := func(err error) ([]*attached, error) {
		closePrograms(done)
		return nil, err
	}
	if w.needs != nil {
		if err := w.needs.check(); err != nil {
			return nil, err
		}
	}
	// Load all before the first is attached, so that they begin together.
	for _, h := range w.programs {
		a := &attached{probe: p.id, name: h.program}
		if h.program != "" {
			var err error
			if a.program, err = l.program(w.object, h.program); err != nil {
				return undo(err)
			}
		}
		done = append(done, a)
	}
	for i, h := range w.programs {
		links, err := attachHook(done[i].program, h, l.options)
		done[i].links = links
		if err != nil {
			return undo(err)
		}
	}
	return done, nil
}

func closePrograms(programs []*attached) {
	for _, a := range programs {
		a.detach()
		a.program.Close() // does nothing for nil
	}
}

func attachHook(program *ebpf.Program, h hook, options Options) ([]io.Closer, error) {
	one := func(l link.Link, err error) ([]io.Closer, error) {
		if err != nil {
			return nil, err
		}
		return []io.Closer{l}, nil
	}
	switch h.attach {
	case attachTracing:
		return one(link.AttachTracing(link.TracingOptions{Program: program}))
	case attachKretprobe:
		return one(link.Kretprobe(h.target, program, nil))
	case attachRawTP:
		return one(link.AttachRawTracepoint(link.RawTracepointOptions{Name: h.target, Program: program}))
	case attachTracepoint:
		return tracepointEvent(program, h.target)
	case attachMappings:
		reader, err := openMappings()
		if err != nil {
			return nil, err
		}
		return []io.Closer{reader}, nil
	case attachMajorFault:
		return everyCPU(program, &unix.PerfEventAttr{
			Type:   unix.PERF_TYPE_SOFTWARE,
			Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ,
			Sample: 1,
		})
	case attachSample:
		return everyCPU(program, &unix.PerfEventAttr{
			Type:   unix.PERF_TYPE_SOFTWARE,
			Config: unix.PERF_COUNT_SW_CPU_CLOCK,
			Sample: uint64(options.SampleHz),
			Bits:   unix.PerfBitFreq,
		})
	}
	return nil, fmt.Errorf("unknown way to attach %d", h.attach)
}

// tracepointEvent runs the program at a tracepoint. The event of one CPU makes it run on all. It takes
// no samples: as the programs leave every event to others too, each would be worked on for nobody.
func tracepointEvent(program *ebpf.Program, target string) ([]io.Closer, error) {
	tracefs, err := tracefsDir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(tracefs + "/events/" + target + "/id")
	if err != nil {
		return nil, fmt.Errorf("the kernel has no tracepoint %s: %w", target, err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the id of tracepoint %s: %w", target, err)
	}
	cpus, err := system.ReadCPUs("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return perfEvents(program, &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}, cpus[:1])
}

// everyCPU opens the event on each CPU that is online and runs the program there.
func everyCPU(program *ebpf.Program, attr *unix.PerfEventAttr) ([]io.Closer, error) {
	cpus, err := system.ReadCPUs("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return perfEvents(program, attr, cpus)
}

func perfEvents(program *ebpf.Program, attr *unix.PerfEventAttr, cpus []int) ([]io.Closer, error) {
	attr.Size = unix.PERF_ATTR_SIZE_VER5
	var events []io.Closer
	for _, cpu := range cpus {
		fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return events, fmt.Errorf("perf_event_open on CPU %d: %w", cpu, err)
		}
		event := os.NewFile(uintptr(fd), "perf-event")
		events = append(events, event)
		err = errors.Join(
			unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD()),
			unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0))
		if err != nil {
			return events, fmt.Errorf("attaching to the perf event of CPU %d: %w", cpu, err)
		}
	}
	return events, nil
}

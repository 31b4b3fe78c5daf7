//go:build linux

package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
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

const (
	offByOption = "switched off by --without"
	offWhenIdle = "left off so as not to wake idle CPUs"
)

// attachProbes tries each probe's ways in order and tells what became of each. A probe that this kind
// of recording has no use for isn't mentioned.
func attachProbes(l *loader) ([]*attached, []tracefile.ProbeStatus) {
	var all []*attached
	var statuses []tracefile.ProbeStatus
	for _, p := range probes {
		name := p.id.String()
		switch {
		case p.idle == idleOnly && !l.options.Idle:
			continue
		case p.idle == neverIdle && l.options.Idle:
			statuses = append(statuses, tracefile.ProbeStatus{Name: name, Status: tracefile.StatusOff, Reason: offWhenIdle})
			continue
		case slices.Contains(l.options.Without, name):
			statuses = append(statuses, tracefile.ProbeStatus{Name: name, Status: tracefile.StatusOff, Reason: offByOption})
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
		if !strings.HasPrefix(w.via, l.options.Attach[p.id.String()]) {
			continue // another way is asked for
		}
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

var errRingLock = errors.New("PREEMPT_RT before Linux 6.12 or 6.1.115: the ring buffer's lock sleeps, and to wait for it here could crash the kernel")

// attachWay attaches all programs of a way, or none.
func attachWay(l *loader, p probe, w way) ([]*attached, error) {
	if !l.kernel.rtRingOK && !w.anyLock {
		return nil, errRingLock
	}
	if w.needs != nil {
		if err := w.needs.check(); err != nil {
			return nil, err
		}
	}
	var done []*attached
	undo := func(err error) ([]*attached, error) {
		closePrograms(done)
		return nil, err
	}
	// Load all before the first is attached, so that they begin together.
	for _, h := range w.programs {
		a := &attached{probe: p.id, name: h.program}
		if h.program != "" && h.attach != attachSysExit {
			var err error
			if a.program, err = l.program(w.object, h.program); err != nil {
				return undo(err)
			}
		}
		done = append(done, a)
	}
	for i, h := range w.programs {
		if err := l.attachHook(done[i], w.object, h); err != nil {
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

// syscallPrefix is what the names of the functions begin with that the table of system calls leads to.
var syscallPrefix = map[string]string{"amd64": "__x64_", "arm64": "__arm64_"}

// attachHook attaches a program to its place, or places.
func (l *loader) attachHook(a *attached, object objectKind, h hook) (err error) {
	switch h.attach {
	case attachTracing:
		var tracing link.Link
		tracing, err = link.AttachTracing(link.TracingOptions{Program: a.program})
		a.add(tracing, err)
	case attachKretprobe:
		for _, function := range strings.Split(h.target, ",") {
			var probe link.Link
			if strings.HasPrefix(function, "sys_") {
				function = syscallPrefix[runtime.GOARCH] + function
			}
			probe, err = link.Kretprobe(function, a.program, nil)
			if a.add(probe, err); err != nil {
				return err
			}
		}
	case attachTracepoint:
		var event io.Closer
		event, err = tracepointEvent(a.program, h.target)
		a.add(event, err)
	case attachSysExit:
		err = l.attachToSysExit(a, object, h.wants)
	case attachMappings:
		var reader *mappingReader
		if reader, err = newMappingReader(); err == nil {
			err = a.addEachCPU(reader)
		}
	case attachMajorFault:
		err = a.addEachCPU(newCPUEvents(a.program, unix.PerfEventAttr{
			Type:   unix.PERF_TYPE_SOFTWARE,
			Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ,
			Sample: 1,
		}))
	case attachSample:
		err = a.addEachCPU(newCPUEvents(a.program, unix.PerfEventAttr{
			Type:   unix.PERF_TYPE_SOFTWARE,
			Config: unix.PERF_COUNT_SW_CPU_CLOCK,
			Sample: uint64(l.options.SampleHz),
			Bits:   unix.PerfBitFreq,
		}))
	}
	return err
}

// add keeps what detaches, if attaching went well.
func (a *attached) add(link io.Closer, err error) {
	if err == nil {
		a.links = append(a.links, link)
	}
}

// tracepointEvent runs the program at a tracepoint. The event of one CPU makes it run on all. It takes
// no samples: as the programs leave every event to others too, each would be worked on for nobody.
// That CPU may go offline: the program goes on running until the event is closed.
func tracepointEvent(program *ebpf.Program, target string) (io.Closer, error) {
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
	return perfEvent(program, &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}, cpus[0])
}

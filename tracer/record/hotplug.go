//go:build linux

package record

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// eachCPU is attached to each CPU on its own: a perf event ends with its CPU, and one that comes has none.
type eachCPU interface {
	io.Closer
	enter(cpu int) error // the CPU is online
	leave(cpu int)       // it is not any more
}

// addEachCPU attaches it to all CPUs that are online.
func (a *attached) addEachCPU(e eachCPU) error {
	a.add(e, nil)
	cpus, err := system.ReadCPUs("/sys/devices/system/cpu/online")
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		if err := e.enter(cpu); err != nil && !errors.Is(err, unix.ENODEV) { // it has just left
			return err
		}
	}
	return nil
}

// cpuEvents are perf events that run a program, one per CPU.
type cpuEvents struct {
	program *ebpf.Program
	attr    unix.PerfEventAttr
	events  map[int]io.Closer
}

func newCPUEvents(program *ebpf.Program, attr unix.PerfEventAttr) *cpuEvents {
	return &cpuEvents{program, attr, map[int]io.Closer{}}
}

func (c *cpuEvents) enter(cpu int) error {
	event, err := perfEvent(c.program, &c.attr, cpu)
	if err == nil {
		c.events[cpu] = event
	}
	return err
}

func (c *cpuEvents) leave(cpu int) {
	if event := c.events[cpu]; event != nil {
		event.Close()
		delete(c.events, cpu)
	}
}

// Close implements io.Closer.
func (c *cpuEvents) Close() error {
	for cpu := range c.events {
		c.leave(cpu)
	}
	return nil
}

// perfEvent opens the event on a CPU and runs the program there.
func perfEvent(program *ebpf.Program, attr *unix.PerfEventAttr, cpu int) (io.Closer, error) {
	attr.Size = unix.PERF_ATTR_SIZE_VER5
	fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open on CPU %d: %w", cpu, err)
	}
	event := os.NewFile(uintptr(fd), "perf-event")
	err = errors.Join(
		unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD()),
		unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0))
	if err != nil {
		event.Close()
		return nil, fmt.Errorf("attaching to the perf event of CPU %d: %w", cpu, err)
	}
	return event, nil
}

// followCPUs attaches anew to the CPUs that have come and takes off those that went.
func (r *recorder) followCPUs() error {
	if r.cpus == nil {
		return nil
	}
	for {
		select {
		case change := <-r.cpus.Changes:
			if err := r.followCPU(&change); err != nil {
				return err
			}
			r.cpuChanges = append(r.cpuChanges, change)
		default:
			return nil
		}
	}
}

func (r *recorder) followCPU(change *tracefile.CPUChange) error {
	if err := r.drainMappings(); err != nil {
		return err
	}
	var failed error
	for _, a := range r.programs {
		for _, l := range a.links {
			e, ok := l.(eachCPU)
			if !ok {
				continue
			}
			e.leave(change.CPU) // when a CPU comes back, maybe nobody has said that it went
			if change.Online {
				failed = errors.Join(failed, e.enter(change.CPU))
			}
		}
	}
	switch {
	case !change.Online:
		if r.options.Idle {
			stayOnThisCPU() // the one it was kept to may be the one that went
		}
	case failed == nil:
		change.Covered = system.BootTime()
	case !errors.Is(failed, unix.ENODEV): // it has left again
		r.options.Notice("CPU %d has come, and faults, samples and mappings on it are missing: %v", change.CPU, failed)
	}
	return nil
}

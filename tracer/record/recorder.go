//go:build linux

package record

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A recorder has its probes attached and drains what they write.
type recorder struct {
	options  Options
	loader   *loader
	programs []*attached
	statuses []tracefile.ProbeStatus
	rings    *schedRings
	events   *ringbuf.Reader
	woken    []*ebpf.Variable // reader_woken of each object
	mappings *mappingReader   // nil without that probe
	iterator *taskIterator    // nil where the kernel has none
	losses   lossCounter
	clock    *system.StepWatcher // nil where it can't be had
	cpus     *system.CPUWatcher  // likewise
	cgroups  *system.Cgroups
	follower follower // nil if nobody looks on
	stats    statsWindow
	drained  uint64 // events so far
	began    uint64 // when attaching began
	start    uint64 // when it was done
	ended    uint64 // when the programs were taken off
	startCPU uint64 // CPU time of this process until start
	interval time.Duration
	writer   *tracefile.Writer
	flushGap time.Duration
	syncGap  time.Duration // how often the output is brought onto the disk; 0: nobody sees to it
	flushAt  time.Time
	lossesAt time.Time      // when losses are looked for again
	memoryAt time.Time      // when the memory controller is asked again
	record   ringbuf.Record // reused

	cpuChanges []tracefile.CPUChange // until now
}

// attach loads and attaches everything that this kernel allows. It fails only when nothing at all
// can be recorded.
func attach(options Options) (*recorder, error) {
	// A start leaves less than 10 MB behind. To collect that is as dear as to parse the kernel's types.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := &recorder{options: options, began: system.BootTime(), interval: drainInterval, flushGap: flushInterval}
	if err := liftMemlock(); err != nil {
		options.Notice("%v", err)
	}
	kernel := readKernel(options)
	if !kernel.rtRingOK {
		r.interval = rtInterval
	} else if options.Idle {
		r.interval = idleInterval
	}
	if options.Interval > 0 {
		r.interval = min(r.interval, options.Interval)
	}
	r.loader = newLoader(kernel, options)
	r.cpus, _ = system.WatchCPUs() // before the first look at which are online
	r.stats.change(time.Now(), tally{})
	r.programs, r.statuses = attachProbes(r.loader)
	r.iterator, _ = newTaskIterator(r.loader) // else /proc tells
	r.loader.kernel.plan.forget()
	// Mappings alone, which need no program, are no recording.
	if len(r.programs) == 0 || r.loader.shared["events"] == nil {
		r.close()
		return nil, fmt.Errorf("nothing can be recorded on this kernel:\n%s", describeStatuses(r.statuses))
	}
	if err := r.openBuffers(); err != nil {
		r.close()
		return nil, err
	}
	if r.cpus != nil {
		go r.cpus.Run(r.wake)
	}
	r.addCgroupStatus()
	r.clock, _ = system.WatchSteps()
	r.start = system.BootTime()
	r.startCPU, _ = ownUsage()
	return r, nil
}

// FillCache finds out ahead what a start with these options wants to know of the running kernel, and keeps
// it in a directory.
func FillCache(options Options, dir string) error {
	if err := checkPrivileges(); err != nil {
		return err
	}
	options.Cache, options.Notice = []string{dir}, func(string, ...any) {}
	r, err := attach(options)
	if err != nil {
		return err
	}
	r.close()
	return r.loader.kernel.badFile
}

// liftMemlock: before 5.11, maps and programs count against the limit of locked memory.
func liftMemlock() error {
	if err := rlimit.RemoveMemlock(); err != nil {
		return fmt.Errorf("cannot raise the limit of locked memory (CAP_SYS_RESOURCE): %w", err)
	}
	return nil
}

func (r *recorder) openBuffers() (err error) {
	if r.rings, err = mapSchedRings(r.loader.shared["sched_rings"]); err != nil {
		return err
	}
	if r.events, err = ringbuf.NewReader(r.loader.shared["events"]); err != nil {
		return fmt.Errorf("opening the ring buffer: %w", err)
	}
	r.losses = lossCounter{counts: r.loader.shared["losses"], others: map[[2]uint16]uint64{}}
	for _, a := range r.programs {
		for _, l := range a.links {
			if m, ok := l.(*mappingReader); ok {
				r.mappings = m
				m.watch(r.wake)
			}
		}
	}
	for _, o := range r.loader.objects {
		if o != nil {
			r.woken = append(r.woken, o.maps.Variables["reader_woken"])
		}
	}
	return nil
}

// addCgroupStatus tells when cgroups can't be assigned to units, whatever the programs record.
func (r *recorder) addCgroupStatus() {
	var err error
	if r.cgroups, err = system.FindCgroups(); err == nil {
		return
	}
	for i := range r.statuses {
		if s := &r.statuses[i]; s.Name == event.ProbeCgroup.String() && s.Status == tracefile.StatusOn {
			s.Status, s.Reason = tracefile.StatusLesser, "units are not known: "+err.Error()
		}
	}
}

func describeStatuses(statuses []tracefile.ProbeStatus) string {
	var b strings.Builder
	for _, s := range statuses {
		fmt.Fprintf(&b, "  %-8s %s: %s\n", s.Name, s.Status, s.Reason)
	}
	return strings.TrimRight(b.String(), "\n")
}

// detach takes all programs off; what they have written can still be drained. Those that came last go
// first: sched is only of use while processes are followed.
func (r *recorder) detach() {
	for _, a := range slices.Backward(r.programs) {
		a.detach()
	}
}

func (r *recorder) close() {
	r.loader.kernel.keepPlan(r.options.Cache)
	r.stats.stop(tally{})
	closePrograms(r.programs)
	if r.iterator != nil {
		r.iterator.close()
	}
	if r.clock != nil {
		r.clock.Close()
	}
	if r.cpus != nil {
		r.cpus.Close()
	}
	if r.events != nil {
		r.events.Close()
	}
	if r.rings != nil {
		r.rings.close()
	}
	r.loader.close()
}

// header describes the recording that has just begun.
func (r *recorder) header(commandPID int) (*tracefile.Header, error) {
	h := &tracefile.Header{
		Tool: r.options.Tool, Start: r.start, RecorderPID: uint32(os.Getpid()),
		Command: r.options.Command, CommandPID: uint32(commandPID), SampleHz: r.options.SampleHz, Sync: uint64(r.syncGap), Probes: r.statuses,
	}
	if r.options.NoArgs && len(h.Command) > 1 {
		h.Command = h.Command[:1]
	}
	return h, system.DescribeMachine(h)
}

// begin writes the header and what was there before the recording.
func (r *recorder) begin(writer *tracefile.Writer) error {
	r.writer = writer
	if err := writer.Event(system.ReadClocks(event.ClockAtStart)); err != nil {
		return err
	}
	if err := r.cgroups.Walk(func(e *event.Cgroup) error { return writer.Event(e) }); err != nil {
		return err
	}
	if err := r.writeMemory(event.MemoryAtStart); err != nil {
		return err
	}
	return r.writeTasks(event.TaskAtStart)
}

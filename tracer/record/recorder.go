//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
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
	losses   lossCounter
	clock    *system.StepWatcher // nil where it can't be had
	cgroups  *system.Cgroups
	stats    statsWindow
	began    uint64 // when attaching began
	start    uint64 // when it was done
	interval time.Duration
	writer   *tracefile.Writer
	flushAt  time.Time
	record   ringbuf.Record // reused
}

// attach loads and attaches everything that this kernel allows. It fails only when nothing at all
// can be recorded.
func attach(options Options) (*recorder, error) {
	r := &recorder{options: options, began: system.BootTime(), interval: drainInterval}
	if err := rlimit.RemoveMemlock(); err != nil { // before 5.11 maps count against it
		options.Notice("cannot raise the limit of locked memory (CAP_SYS_RESOURCE): %v", err)
	}
	kernel := readKernel(options.NoBTF)
	if !kernel.rtRingOK {
		r.interval = rtInterval
	}
	r.loader = newLoader(kernel, options)
	r.stats.tick(time.Now())
	off := map[string]bool{}
	for _, name := range options.Without {
		off[name] = true
	}
	r.programs, r.statuses = attachProbes(r.loader, off)
	r.loader.kernel.types = nil // the kernel's types take several MB and were needed for loading only
	if len(r.programs) == 0 {
		r.close()
		return nil, fmt.Errorf("nothing can be recorded on this kernel:\n%s", describeStatuses(r.statuses))
	}
	if err := r.openBuffers(); err != nil {
		r.close()
		return nil, err
	}
	r.addCgroupStatus()
	r.clock, _ = system.WatchSteps()
	r.start = system.BootTime()
	return r, nil
}

func (r *recorder) openBuffers() (err error) {
	if r.rings, err = mapSchedRings(r.loader.shared["sched_rings"]); err != nil {
		return err
	}
	if r.events, err = ringbuf.NewReader(r.loader.shared["events"]); err != nil {
		return fmt.Errorf("opening the ring buffer: %w", err)
	}
	r.losses.counts = r.loader.shared["losses"]
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

// detach takes all programs off; what they have written can still be drained.
func (r *recorder) detach() {
	for _, a := range r.programs {
		a.detach()
	}
}

func (r *recorder) close() {
	r.stats.stop()
	closePrograms(r.programs)
	if r.clock != nil {
		r.clock.Close()
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
		Command: r.options.Command, CommandPID: uint32(commandPID), SampleHz: r.options.SampleHz, Probes: r.statuses,
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
	return r.readTasks(event.TaskAtStart)
}

func (r *recorder) readTasks(phase event.TaskPhase) error {
	names := phase == event.TaskAtStart
	return system.ReadTasks(phase, names, !r.options.NoArgs, r.cgroups, func(e *event.Task) error {
		return r.writer.Event(e)
	})
}

// drainUntil moves events from the buffers to the file until a moment, or until it is interrupted
// (see wake). What is in the buffers by then is drained in any case.
func (r *recorder) drainUntil(deadline time.Time) error {
	r.events.SetDeadline(deadline)
	for n := 1; ; n++ {
		err := r.events.ReadInto(&r.record)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ringbuf.ErrFlushed) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the ring buffer: %w", err)
		}
		// A header of kind 0 only says that a sched ring is half full.
		signal := len(r.record.RawSample) <= event.HeaderSize
		if !signal {
			if err := r.writer.Events(r.record.RawSample); err != nil {
				return err
			}
		}
		if signal || n%1024 == 0 {
			if err := r.drainRings(); err != nil {
				return err
			}
		}
	}
	return r.drainRings()
}

func (r *recorder) drainRings() error {
	for _, w := range r.woken {
		if err := w.Set(uint32(0)); err != nil {
			return fmt.Errorf("telling the programs that the buffer was read: %w", err)
		}
	}
	return r.rings.drain(r.writer.Sched)
}

// wake interrupts drainUntil.
func (r *recorder) wake() { _ = r.events.Flush() }

// round drains for one interval and does what is to be done now and then.
func (r *recorder) round(deadline time.Time) error {
	now := time.Now()
	r.stats.tick(now)
	next := now.Add(r.interval)
	if deadline.Before(next) && !deadline.IsZero() {
		next = deadline
	}
	if r.stats.enabled != nil && r.stats.next.Before(next) {
		next = r.stats.next
	}
	if err := r.drainUntil(next); err != nil {
		return err
	}
	if err := r.writeLosses(); err != nil {
		return err
	}
	if r.clock != nil {
		select {
		case step := <-r.clock.Steps:
			if err := r.writer.Event(step); err != nil {
				return err
			}
		default:
		}
	}
	if now.After(r.flushAt) {
		r.flushAt = now.Add(flushInterval)
		return r.writer.Flush()
	}
	return nil
}

// writeLosses puts a mark where events were lost.
func (r *recorder) writeLosses() error {
	lost, err := r.losses.since()
	for _, e := range lost {
		e.Time = system.BootTime()
		if err := r.writer.Event(e); err != nil {
			return err
		}
	}
	return err
}

// end detaches, drains what is left and completes the file.
func (r *recorder) end(reason string, exitStatus *int) error {
	if err := r.readTasks(event.TaskAtEnd); err != nil {
		return err
	}
	end := system.BootTime()
	r.detach()
	r.stats.stop()
	if err := r.drainUntil(time.Now()); err != nil {
		return err
	}
	if err := errors.Join(r.writeLosses(), r.writeUntoldLosses(end)); err != nil {
		return err
	}
	if err := r.writer.Event(system.ReadClocks(event.ClockAtEnd)); err != nil {
		return err
	}
	if err := r.writer.Flush(); err != nil {
		return err
	}
	recorded := end - r.start
	costs := programCosts(r.programs, r.stats.measured, recorded)
	return r.writer.Close(&tracefile.Trailer{
		End: end, Reason: reason, Programs: costs, ExitStatus: exitStatus,
		Lost: r.losses.total(r.rings, costs, r.probeOf()),
		Self: selfCost(costs, recorded, r.start-r.began, uint64(r.writer.Size())),
	})
}

// writeUntoldLosses marks what was lost on a CPU since its ring had room for the last time.
func (r *recorder) writeUntoldLosses(now uint64) error {
	for cpu := range r.rings.rings {
		_, _, full, nested := r.rings.losses(cpu)
		for reason, count := range map[event.LostReason]uint64{event.LostFull: full, event.LostNested: nested} {
			if count == 0 {
				continue
			}
			e := event.New(event.KindLost).(*event.Lost)
			e.Time, e.CPU, e.Probe, e.Reason, e.Count = now, uint16(cpu), uint16(event.ProbeSched), uint16(reason), count
			if err := r.writer.Event(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recorder) probeOf() map[string]event.Probe {
	probes := map[string]event.Probe{}
	for _, a := range r.programs {
		probes[a.name] = a.probe
	}
	return probes
}

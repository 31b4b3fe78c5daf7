//go:build linux

package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

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
		r.drained++
		if !signal && !r.isOver(r.record.RawSample) {
			if err := r.writer.Events(r.record.RawSample); err != nil {
				return err
			}
			if r.follower != nil {
				r.follower.events(r.record.RawSample)
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

// isOver tells whether an event came after the recording had ended: taking the programs off takes a
// while, half a second on a busy machine. A read is told when the next one begins, so it may be of before.
func (r *recorder) isOver(raw []byte) bool {
	if r.ended == 0 || binary.LittleEndian.Uint64(raw) <= r.ended {
		return false
	}
	return event.Kind(binary.LittleEndian.Uint16(raw[16:])) != event.KindRead
}

func (r *recorder) drainRings() error {
	for _, w := range r.woken {
		if err := w.Set(uint32(0)); err != nil {
			return fmt.Errorf("telling the programs that the buffer was read: %w", err)
		}
	}
	return r.rings.drain(r.writer.Sched)
}

func (r *recorder) drainMappings() error {
	if r.mappings == nil {
		return nil
	}
	return r.mappings.drain(func(e event.Event) error {
		if lost, ok := e.(*event.Lost); ok {
			r.losses.add(lost)
		}
		return r.writer.Event(e)
	})
}

// wake interrupts drainUntil.
func (r *recorder) wake() { _ = r.events.Flush() }

// round drains for one interval and does what is to be done now and then.
func (r *recorder) round(deadline time.Time) error {
	now := time.Now()
	if err := r.switchStats(now); err != nil {
		return err
	}
	next := r.nextRound(now)
	if deadline.Before(next) && !deadline.IsZero() {
		next = deadline
	}
	if r.stats.enabled != nil && r.stats.next.Before(next) {
		next = r.stats.next
	}
	if err := r.drainUntil(next); err != nil {
		return err
	}
	if err := errors.Join(r.drainMappings(), r.lossesMeanwhile(now), r.memoryMeanwhile(now)); err != nil {
		return err
	}
	if err := errors.Join(r.writeSteps(), r.followCPUs()); err != nil {
		return err
	}
	if err := r.tellDrained(); err != nil {
		return err
	}
	if now.After(r.flushAt) {
		r.flushAt = now.Add(r.flushGap)
		return r.writer.Flush()
	}
	return nil
}

// switchStats switches the kernel's statistics when it is time to. What the programs gave until then is
// drained, so that it counts for the right side.
func (r *recorder) switchStats(now time.Time) error {
	if !r.stats.due(now) {
		return nil
	}
	err := r.drainUntil(now)
	r.stats.change(now, r.tally())
	return err
}

// writeSteps writes the snapshots that were taken when the wall clock was set.
func (r *recorder) writeSteps() error {
	if r.clock == nil {
		return nil
	}
	for {
		select {
		case step := <-r.clock.Steps:
			if err := r.writer.Event(step); err != nil {
				return err
			}
			if r.follower != nil {
				r.follower.stepped(step)
			}
		default:
			return nil
		}
	}
}

// nextRound is when the buffers are drained next. An interval that was asked for is kept from the start on,
// whatever wakes the recorder in between.
func (r *recorder) nextRound(now time.Time) time.Time {
	if r.options.Interval == 0 {
		return now.Add(r.interval)
	}
	since := time.Duration(system.BootTime() - r.start)
	return now.Add(r.interval - since%r.interval)
}

// tellDrained drains once more, without waiting: what came before that call is in the file after it.
func (r *recorder) tellDrained() error {
	if r.options.Drained == nil {
		return nil
	}
	before := system.BootTime()
	if err := r.drainUntil(time.Now()); err != nil {
		return err
	}
	return r.options.Drained(before)
}

// lossesMeanwhile looks for losses once per interval: mappings may wake the recorder many times in one.
func (r *recorder) lossesMeanwhile(now time.Time) error {
	if now.Before(r.lossesAt) {
		return nil
	}
	r.lossesAt = now.Add(r.interval)
	return r.writeLosses()
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
	if err := errors.Join(r.writeTasks(event.TaskAtEnd), r.writeMemory(event.MemoryAtEnd)); err != nil {
		return err
	}
	if err := errors.Join(r.drainMappings(), r.followCPUs()); err != nil {
		return err
	}
	r.ended = system.BootTime()
	r.detach()
	if err := r.drainUntil(time.Now()); err != nil {
		return err
	}
	r.stats.stop(r.tally())
	if err := errors.Join(r.writeSteps(), r.writeLastReads(r.ended), r.writeInterrupts(r.ended), r.writeLosses(), r.writeUntoldLosses(r.ended)); err != nil {
		return err
	}
	if r.follower != nil {
		if err := r.follower.end(reason); err != nil {
			return err
		}
	}
	if err := r.writer.Event(system.ReadClocks(event.ClockAtEnd)); err != nil {
		return err
	}
	if err := r.writer.Flush(); err != nil {
		return err
	}
	programs, self := r.costs()
	return r.writer.Close(&tracefile.Trailer{
		End: r.ended, Reason: reason, Programs: programs, Self: self, ExitStatus: exitStatus,
		Lost:    r.losses.total(r.rings, programs, r.probeOf()),
		CPUFreq: system.FrequencyPolicies(), Sensors: system.Sensors(), CPUChanges: r.cpuChanges,
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

// writeLastReads completes the runs of pages that each CPU was still collecting.
func (r *recorder) writeLastReads(now uint64) error {
	var runs []struct { // struct read_run of bpf/pagecache.h
		Busy, Reserved uint32
		Event          [80]byte
	}
	if err := r.loader.shared["read_runs"].Lookup(uint32(0), &runs); err != nil {
		return fmt.Errorf("reading the last page cache events: %w", err)
	}
	decoder, err := event.NewDecoder(event.Specs)
	if err != nil {
		return err
	}
	for _, run := range runs {
		e, _, err := decoder.Next(run.Event[:])
		if err != nil {
			continue // no page ever came on this CPU
		}
		if read := e.(*event.Read); read.Pages > 0 {
			read.Time = now
			if err := r.writer.Event(read); err != nil {
				return err
			}
		}
	}
	return nil
}

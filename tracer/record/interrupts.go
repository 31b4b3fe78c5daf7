//go:build linux

package record

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
)

// writeInterrupts writes what each kind of interrupt work took, as the irq probe has summed it up.
func (r *recorder) writeInterrupts(now uint64) error {
	totals := r.loader.shared["irq_totals"]
	if totals == nil || !r.options.Idle {
		return nil
	}
	var key struct{ By, Number uint16 }
	var perCPU []struct{ Count, Time uint64 }
	all := totals.Iterate()
	names := system.InterruptNames()
	for all.Next(&key, &perCPU) {
		e := event.New(event.KindInterrupts).(*event.Interrupts)
		e.Time, e.By, e.Number = now, key.By, key.Number
		for _, cpu := range perCPU {
			e.Count += cpu.Count
			e.Total += cpu.Time
		}
		e.SetTail([]byte(names.Of(event.Waker(key.By), key.Number)))
		if err := r.writer.Event(e); err != nil {
			return err
		}
	}
	if err := all.Err(); err != nil {
		return fmt.Errorf("reading the interrupts' totals: %w", err)
	}
	return nil
}

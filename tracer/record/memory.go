//go:build linux

package record

import (
	"time"

	"github.com/bootscope/bootscope/tracer/event"
)

// memoryInterval is how often the memory controller's files are read: reading memory.stat makes the kernel
// add up counters of all CPUs. Cgroups that come and go between two readings are not seen.
const memoryInterval = 10 * time.Second

// writeMemory writes what the memory controller says of the cgroups that have a limit.
func (r *recorder) writeMemory(phase event.MemoryPhase) error {
	r.memoryAt = time.Now().Add(memoryInterval)
	return r.cgroups.Memory().Read(phase, func(e *event.Memory) error { return r.writer.Event(e) })
}

// memoryMeanwhile does so now and then, whenever the recorder is awake anyway.
func (r *recorder) memoryMeanwhile(now time.Time) error {
	if now.Before(r.memoryAt) {
		return nil
	}
	return r.writeMemory(event.MemoryMeanwhile)
}

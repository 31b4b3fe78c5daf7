//go:build linux

package record

import (
	"fmt"
	"maps"

	"github.com/cilium/ebpf"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// lossCounter follows what the programs count as lost in the map of losses.
type lossCounter struct {
	counts *ebpf.Map
	seen   [int(event.ProbeCount) * 2]uint64
	others map[[2]uint16]uint64 // losses by probe and reason that no program counts
}

// since returns the losses that came about since the last call.
func (l *lossCounter) since() ([]*event.Lost, error) {
	var found []*event.Lost
	var perCPU []uint64
	for key := range uint32(len(l.seen)) {
		if err := l.counts.Lookup(key, &perCPU); err != nil {
			return nil, fmt.Errorf("reading the counts of lost events: %w", err)
		}
		var sum uint64
		for _, n := range perCPU {
			sum += n
		}
		if sum > l.seen[key] {
			e := event.New(event.KindLost).(*event.Lost)
			e.Probe, e.Reason, e.Count = uint16(key/2), uint16(key%2), sum-l.seen[key]
			found = append(found, e)
		}
		l.seen[key] = sum
	}
	return found, nil
}

// add counts a loss that was found elsewhere.
func (l *lossCounter) add(e *event.Lost) {
	l.others[[2]uint16{e.Probe, e.Reason}] += e.Count
}

// total lists all losses of the recording, sched rings and skipped program runs included.
func (l *lossCounter) total(rings *schedRings, programs []tracefile.Program, probeOf map[string]event.Probe) []tracefile.Loss {
	counts := maps.Clone(l.others)
	for key, n := range l.seen {
		counts[[2]uint16{uint16(key / 2), uint16(key % 2)}] += n
	}
	for cpu := range rings.rings {
		full, nested, _, _ := rings.losses(cpu)
		counts[[2]uint16{uint16(event.ProbeSched), uint16(event.LostFull)}] += full
		counts[[2]uint16{uint16(event.ProbeSched), uint16(event.LostNested)}] += nested
	}
	for _, p := range programs {
		counts[[2]uint16{uint16(probeOf[p.Name]), uint16(event.LostSkipped)}] += p.Skipped
	}
	lost := []tracefile.Loss{}
	for probe := range event.ProbeCount {
		for reason := range event.LostDisk {
			if n := counts[[2]uint16{uint16(probe), uint16(reason)}]; n > 0 {
				lost = append(lost, tracefile.Loss{Probe: probe.String(), Reason: reason.String(), Count: n})
			}
		}
	}
	return lost
}

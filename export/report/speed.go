package report

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// speeds adds up how long each thread ran at which frequency: a second at 500 MHz is not one at 2 GHz.
type speeds struct {
	timeline.Discard
	cpus    map[int][]frequency
	threads map[*timeline.Thread]map[uint32]uint64
	top     uint32 // the highest frequency that any CPU had
}

// frequency is a CPU's from a moment on.
type frequency struct {
	since uint64
	khz   uint32
}

func newSpeeds() *speeds {
	return &speeds{cpus: map[int][]frequency{}, threads: map[*timeline.Thread]map[uint32]uint64{}}
}

// Frequency implements timeline.Sink.
func (s *speeds) Frequency(cpu int, at uint64, khz uint32) {
	s.cpus[cpu] = append(s.cpus[cpu], frequency{at, khz})
	s.top = max(s.top, khz)
}

// Interval implements timeline.IntervalSink. A CPU runs one thread at a time, so what came before this interval's
// end is of no use to the next.
func (s *speeds) Interval(iv *timeline.Interval) {
	if iv.State != timeline.Running {
		return
	}
	changes := s.cpus[iv.CPU]
	if len(changes) == 0 {
		return
	}
	ran := s.threads[iv.Thread]
	if ran == nil {
		ran = map[uint32]uint64{}
		s.threads[iv.Thread] = ran
	}
	last := 0
	for i, c := range changes {
		until := iv.End
		if i+1 < len(changes) {
			until = min(until, changes[i+1].since)
		}
		if from := max(c.since, iv.Start); until > from {
			ran[c.khz] += until - from
		}
		if c.since <= iv.End {
			last = i
		}
	}
	s.cpus[iv.CPU] = append(changes[:0], changes[last:]...)
}

// of returns how long a process ran at each frequency, the lowest first. It is nil where that isn't known.
func (s *speeds) of(p *timeline.Process) []timeline.FreqTime {
	sum := map[uint32]uint64{}
	for _, th := range p.Threads {
		for khz, ns := range s.threads[th] {
			sum[khz] += ns
		}
	}
	var times []timeline.FreqTime
	for khz, ns := range sum {
		times = append(times, timeline.FreqTime{KHz: khz, Time: ns})
	}
	sort.Slice(times, func(i, j int) bool { return times[i].KHz < times[j].KHz })
	return times
}

// atTop returns how long a process would have run at the highest frequency, had its work been only the
// CPU's: waiting for memory doesn't get shorter, so it is at least that.
func (s *speeds) atTop(p *timeline.Process) (ns uint64, known bool) {
	for _, t := range s.of(p) {
		ns += uint64(float64(t.Time) * float64(t.KHz) / float64(s.top))
		known = true
	}
	return ns, known
}

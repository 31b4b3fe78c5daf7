package export

import (
	"github.com/bootscope/bootscope/tracer/timeline"
)

// pprofKey is what time is added up by.
type pprofKey struct {
	thread    int          // Thread.Index, or noThread
	importing *importFrame // nil if nothing
	khz       uint32       // of the CPU; 0 if it isn't known, or the thread didn't run
}

// noThread is who reads if that isn't known any more.
const noThread = -1

// pprofSum is what is added up.
type pprofSum struct {
	times timeline.Times
	reads timeline.Reads
}

// pprofSums is a sink that adds up.
type pprofSums struct {
	timeline.Discard
	imports     *importStacks
	frequencies map[int][]frequencyFrom // by CPU
	sums        map[pprofKey]*pprofSum
	keys        []pprofKey // in order of appearance
}

// frequencyFrom is the frequency that a CPU has from a time on.
type frequencyFrom struct {
	time uint64
	khz  uint32
}

func newPprofSums(imports *importStacks) *pprofSums {
	return &pprofSums{
		imports: imports, frequencies: map[int][]frequencyFrom{}, sums: map[pprofKey]*pprofSum{},
	}
}

// Frequency implements timeline.Sink.
func (x *pprofSums) Frequency(cpu int, time uint64, khz uint32) {
	x.frequencies[cpu] = append(x.frequencies[cpu], frequencyFrom{time, khz})
}

// Interval implements timeline.IntervalSink. It splits the interval where the import or the frequency changes.
func (x *pprofSums) Interval(iv *timeline.Interval) {
	for at := iv.Start; at < iv.End; {
		key := pprofKey{thread: iv.Thread.Index}
		end := iv.End
		if iv.State == timeline.Running {
			var until uint64
			key.khz, until = x.frequency(iv.CPU, at)
			end = min(end, until)
		}
		importing, until := x.imports.at(key.thread, at)
		key.importing, end = importing, min(end, until)
		x.sum(key).times[iv.State] += end - at
		at = end
	}
}

// Read implements timeline.Sink. It counts for what the thread imported when the first page came.
func (x *pprofSums) Read(r *timeline.Read) {
	key := pprofKey{thread: noThread}
	if r.Thread != nil {
		key.thread = r.Thread.Index
		key.importing, _ = x.imports.at(key.thread, r.Start)
	}
	sum := x.sum(key)
	sum.reads.Bytes += r.Bytes
	sum.reads.Again += r.Again
}

func (x *pprofSums) sum(key pprofKey) *pprofSum {
	sum := x.sums[key]
	if sum == nil {
		sum = &pprofSum{}
		x.sums[key] = sum
		x.keys = append(x.keys, key)
	}
	return sum
}

// frequency returns a CPU's frequency at a time and until when it holds. A CPU's times don't go back, so
// what is over is dropped.
func (x *pprofSums) frequency(cpu int, at uint64) (khz uint32, until uint64) {
	list := x.frequencies[cpu]
	for len(list) > 1 && list[1].time <= at {
		list = list[1:]
	}
	x.frequencies[cpu] = list
	switch {
	case len(list) == 0:
		return 0, forever
	case list[0].time > at:
		return 0, list[0].time
	case len(list) == 1:
		return list[0].khz, forever
	}
	return list[0].khz, list[1].time
}

const forever = ^uint64(0)

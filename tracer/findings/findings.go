// Package findings says what to fix: each finding is evidence, what it costs at most, and a remedy. Each
// kind of finding has a detector in a file of its own, and a line in the table below.
//
// Names of processes and files in findings are as recorded, whatever bytes they hold: whoever shows them
// escapes them. The package must not know how findings are shown.
package findings

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Finding is something to fix.
type Finding struct {
	ID    string // stable, such as "cpu-contention"
	Title string
	// Cost is the most that fixing it can save, in nanoseconds.
	Cost     uint64
	Unit     string // that it is about, "" for none or several
	PID      uint32 // likewise, 0 for none or several
	Evidence []string
	Remedy   string
}

// A Detector looks for one kind of finding. It is a sink, to see what the timeline doesn't keep.
type Detector interface {
	timeline.Sink
	Find(r *Recording) []Finding
}

// Recording is everything that detectors can look at once it is built.
type Recording struct {
	*timeline.Timeline
	Interpreters []*python.Interpreter
	Wakeups      *timeline.Wakeups // nil unless it is a recording of an idle machine
}

// detectors makes one of each kind, for a recording that begins at a time.
var detectors = []func(start uint64) Detector{
	func(start uint64) Detector { return newContention(start) },
	newHeavyImport, newEager, newReimport, newRecompile,
	func(uint64) Detector { return newMemoryLimit() },
	func(uint64) Detector { return newFsyncs() },
	func(uint64) Detector { return newBackoff() },
	func(uint64) Detector { return newEntropy() },
	func(uint64) Detector { return unitWait{} },
	func(uint64) Detector { return restartLoop{} },
	func(uint64) Detector { return governor{} },
	func(uint64) Detector { return timers{} },
	func(uint64) Detector { return pairs{} },
	func(uint64) Detector { return profilers{} },
}

// Detectors are all detectors, for one recording.
type Detectors []Detector

// New makes all detectors for a recording that begins at a time.
func New(start uint64) Detectors {
	var all Detectors
	for _, make := range detectors {
		all = append(all, make(start))
	}
	return all
}

// Sinks returns what is to be given to timeline.Build.
func (d Detectors) Sinks() []timeline.Sink {
	sinks := make([]timeline.Sink, len(d))
	for i := range d {
		sinks[i] = d[i]
	}
	return sinks
}

// Find returns what there is to fix, costliest first.
func (d Detectors) Find(r *Recording) []Finding {
	var all []Finding
	for _, detector := range d {
		all = append(all, detector.Find(r)...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Cost > all[j].Cost })
	return all
}

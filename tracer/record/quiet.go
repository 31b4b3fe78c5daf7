//go:build linux

package record

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
)

const (
	// quietBusy is the share of all CPUs below which a machine counts as quiet.
	quietBusy = 0.20
	// DefaultQuiet is for how long it has to be.
	DefaultQuiet = 15 * time.Second
)

// quiet tells when nothing starts up any more: for some time no Python file was opened, and the machine
// was under a fifth busy, taken over all of that time.
type quiet struct {
	window     time.Duration
	python     map[uint64]struct{} // ids of Python files
	lastPython uint64              // when one was opened; at first, when the recording began
	samples    []cpuSample         // of the last window, the oldest first
}

// A cpuSample is what all CPUs have done since boot, in ticks.
type cpuSample struct{ time, busy, total uint64 }

func newQuiet(window time.Duration, now uint64) *quiet {
	return &quiet{window: window, python: map[uint64]struct{}{}, lastPython: now}
}

// event sees an event of any kind.
func (q *quiet) event(e event.Event) {
	switch e := e.(type) {
	case *event.Path:
		leaf, _, _ := bytes.Cut(e.TailBytes(), []byte{0})
		if isPython(leaf) {
			q.python[e.File] = struct{}{}
		}
	case *event.Open:
		_, known := q.python[e.File]
		if e.Result >= 0 && (known || isPython(e.TailBytes())) {
			q.lastPython = max(q.lastPython, e.Time)
		}
	}
}

func isPython(name []byte) bool {
	return bytes.HasSuffix(name, []byte(".py")) || bytes.HasSuffix(name, []byte(".pyc"))
}

// sample adds a reading of the CPUs' ticks.
func (q *quiet) sample(s cpuSample) {
	q.samples = append(q.samples, s)
	// The oldest one is the last that is a whole window ago.
	for len(q.samples) > 1 && s.time-q.samples[1].time >= uint64(q.window) {
		q.samples = q.samples[1:]
	}
}

// reached tells whether it is quiet now.
func (q *quiet) reached(now uint64) bool {
	if len(q.samples) < 2 || now-q.samples[0].time < uint64(q.window) {
		return false
	}
	return now-min(now, q.lastPython) >= uint64(q.window) && q.busy() < quietBusy
}

// busy is the share of the CPUs' time in the window that they ran.
func (q *quiet) busy() float64 {
	if len(q.samples) == 0 {
		return 1
	}
	first, last := q.samples[0], q.samples[len(q.samples)-1]
	if last.total <= first.total {
		return 1
	}
	return float64(last.busy-first.busy) / float64(last.total-first.total)
}

// describe tells how far from quiet it is.
func (q *quiet) describe(now uint64) string {
	return fmt.Sprintf("%.0f s without a Python file being opened (the last was %.0f s ago) and under %.0f %% busy (it is %.0f %%)",
		q.window.Seconds(), float64(now-min(now, q.lastPython))/1e9, 100*quietBusy, 100*q.busy())
}

// readTicks reads the first line of /proc/stat: "cpu user nice system idle iowait irq softirq steal ...".
// The idle time in it is exact also where the tick stops.
func readTicks(now uint64) (cpuSample, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuSample{}, err
	}
	return parseTicks(string(text), now)
}

func parseTicks(text string, now uint64) (cpuSample, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return cpuSample{}, fmt.Errorf("/proc/stat begins with %q", line)
	}
	s := cpuSample{time: now}
	for i, f := range fields[1:min(len(fields), 9)] { // guest time, further on, is in user already
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return s, fmt.Errorf("/proc/stat: %w", err)
		}
		s.total += n
		if i != 3 && i != 4 { // idle, iowait
			s.busy += n
		}
	}
	return s, nil
}

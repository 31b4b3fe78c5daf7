package export

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// writePprof writes where the time of all threads went, and for whom files were read, as a profile: under
// each unit its processes, under each process what it imported. It reads the source twice: for the threads
// and imports that there are, then to add up. Memory grows with these, not with the events.
func writePprof(w io.Writer, source tracefile.Source) error {
	opens := python.NewCollector()
	tl, err := timeline.Build(source, opens)
	if err != nil {
		return err
	}
	if !tl.Can.Sched {
		return fmt.Errorf("a profile needs the states of threads, which were not recorded: %s", whyOff(tl, event.ProbeSched))
	}
	x := newPprofSums(newImportStacks(tl, opens.Interpreters()))
	if _, err := timeline.Build(source, x); err != nil {
		return err
	}
	return pprofProfile(tl, x).Write(w)
}

func whyOff(tl *timeline.Timeline, probe event.Probe) string {
	for _, s := range tl.Can.Statuses {
		if s.Name == probe.String() && s.Reason != "" {
			return fmt.Sprintf("probe %s is off: %s", s.Name, s.Reason)
		}
	}
	return fmt.Sprintf("probe %s was not there", probe)
}

// A pprofType is a type of sample.
type pprofType struct {
	name, unit string
	known      func(can *timeline.Abilities) bool // else it is left out
	value      func(sum *pprofSum) uint64
}

var pprofTypes = []pprofType{
	timeType("cpu", timeline.Running),
	timeType("runnable", timeline.Runnable),
	timeType("io_wait", timeline.IOWait),
	timeType("blocked", timeline.Blocked), // holds the I/O as well if that can't be told
	timeType("sleep", timeline.Sleeping),
	{"wall", "nanoseconds", hasSched, func(sum *pprofSum) (wall uint64) {
		for _, state := range []timeline.State{
			timeline.Running, timeline.Runnable, timeline.IOWait, timeline.Blocked, timeline.Sleeping,
		} {
			wall += sum.times[state]
		}
		return wall
	}},
	{"read_bytes", "bytes", hasReads, func(sum *pprofSum) uint64 { return sum.reads.Bytes }},
	{"reread_bytes", "bytes", hasReads, func(sum *pprofSum) uint64 { return sum.reads.Again }},
}

func hasSched(can *timeline.Abilities) bool { return can.Sched }
func hasReads(can *timeline.Abilities) bool { return can.Reads }

func timeType(name string, state timeline.State) pprofType {
	known := hasSched
	if state == timeline.IOWait {
		known = func(can *timeline.Abilities) bool { return can.IOWait }
	}
	return pprofType{name, "nanoseconds", known, func(sum *pprofSum) uint64 { return sum.times[state] }}
}

func pprofTypesOf(tl *timeline.Timeline) (types []pprofType) {
	for _, t := range pprofTypes {
		if t.known(&tl.Can) {
			types = append(types, t)
		}
	}
	return types
}

func pprofProfile(tl *timeline.Timeline, sums *pprofSums) *profile.Profile {
	h, types := tl.Header, pprofTypesOf(tl)
	p := &profile.Profile{
		DefaultSampleType: "cpu",
		PeriodType:        &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:            1,
		DurationNanos:     int64(tl.Duration()),
		Comments:          pprofComments(tl),
	}
	if len(tl.Clocks) > 0 {
		c := tl.Clocks[0]
		p.TimeNanos = int64(c.Realtime + tl.Start - c.Boot)
	}
	for _, t := range types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: t.name, Unit: t.unit})
	}
	frames := newPprofFrames(p, h.Machine)
	for _, key := range sums.keys {
		s, empty := &profile.Sample{}, true
		for _, t := range types {
			value := int64(t.value(sums.sums[key]))
			s.Value, empty = append(s.Value, value), empty && value == 0
		}
		if empty {
			continue
		}
		if key.thread == noThread {
			s.Location = frames.nobody()
		} else {
			th := tl.Threads[key.thread]
			s.Location = frames.stack(th.Process, key.importing)
			label(s, th, key.khz)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// label adds what a profile can be filtered by.
func label(s *profile.Sample, th *timeline.Thread, khz uint32) {
	s.NumLabel = map[string][]int64{"pid": {int64(th.Process.PID)}, "tid": {int64(th.TID)}}
	s.Label = map[string][]string{"unit": {unitFrame(th.Process)}, "thread": {printable(threadName(th))}}
	if khz != 0 {
		s.Label["cpu_frequency"] = []string{fmt.Sprintf("%g MHz", float64(khz)/1000)}
	}
}

// pprofComments say what was recorded and what the profile lacks.
func pprofComments(tl *timeline.Timeline) []string {
	h := tl.Header
	list := []string{fmt.Sprintf("%s: Linux %s %s, boot %s", h.Tool, h.Kernel, h.Arch, h.BootID)}
	if len(h.Command) > 0 {
		list = append(list, "command: "+strings.Join(h.Command, " "))
	}
	if !tl.Can.IOWait {
		list = append(list, "blocked includes waiting for I/O: this recording can't tell them apart")
	}
	if !tl.Complete() {
		list = append(list, "incomplete: the recording was cut off before its end")
	}
	for _, l := range tl.Losses {
		list = append(list, fmt.Sprintf("lost: %d events of probe %s (%s)", l.Count, l.Probe, l.Reason))
	}
	var left timeline.Times
	for _, th := range tl.Threads {
		left.Add(&th.Times)
	}
	for _, state := range []timeline.State{timeline.Unknown, timeline.Stopped} {
		if ns := left[state]; ns > 0 {
			list = append(list, fmt.Sprintf("not included: %v of all threads' time in state %s", time.Duration(ns), state))
		}
	}
	for i := range list {
		list[i] = printable(list[i])
	}
	return list
}

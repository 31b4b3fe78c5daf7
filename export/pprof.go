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

// writePprof writes where the time of all threads went as a profile: under each unit its processes, under
// each process what it imported. It reads the source twice: for the threads and imports that there are,
// then to add up. Memory grows with these, not with the events.
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

// A pprofType is a type of sample. The last is the sum of the others.
type pprofType struct {
	name  string
	state timeline.State
}

var pprofTypes = []pprofType{
	{"cpu", timeline.Running},
	{"runnable", timeline.Runnable},
	{"io_wait", timeline.IOWait},
	{"blocked", timeline.Blocked},
	{"sleep", timeline.Sleeping},
}

// pprofTypesOf leaves out what can't be told: blocked then holds the I/O as well.
func pprofTypesOf(tl *timeline.Timeline) (types []pprofType) {
	for _, t := range pprofTypes {
		if t.state != timeline.IOWait || tl.Can.IOWait {
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
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: t.name, Unit: "nanoseconds"})
	}
	p.SampleType = append(p.SampleType, &profile.ValueType{Type: "wall", Unit: "nanoseconds"})
	frames := newPprofFrames(p, h.Machine)
	for _, key := range sums.keys {
		values := make([]int64, 0, len(types)+1)
		wall := int64(0)
		for _, t := range types {
			ns := int64(sums.times[key][t.state])
			values, wall = append(values, ns), wall+ns
		}
		if wall == 0 {
			continue
		}
		th := tl.Threads[key.thread]
		s := &profile.Sample{Location: frames.stack(th.Process, key.importing), Value: append(values, wall)}
		label(s, th, key.khz)
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

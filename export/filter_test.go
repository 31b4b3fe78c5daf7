package export

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// clippedTimes is a sink that adds up the states by thread id, from one moment to another.
type clippedTimes struct {
	timeline.Discard
	from, to uint64
	times    map[string]*timeline.Times
}

func (c *clippedTimes) Interval(iv *timeline.Interval) {
	start, end := max(iv.Start, c.from), min(iv.End, c.to)
	if start >= end {
		return
	}
	name := fmt.Sprint(iv.Thread.TID)
	if c.times[name] == nil {
		c.times[name] = &timeline.Times{}
	}
	c.times[name][iv.State] += end - start
}

func timesBetween(t *testing.T, source tracefile.Source, from, to uint64) map[string]*timeline.Times {
	t.Helper()
	c := &clippedTimes{from: from, to: to, times: map[string]*timeline.Times{}}
	if _, err := timeline.Build(source, c); err != nil {
		t.Fatal(err)
	}
	return c.times
}

// TestSelectTime cuts every trace in three: in each part, threads are in the states in which they are in
// the whole. What ran or was ready when a part began is known from its first event on. What an
// exec, a race or a loss has hidden is only seen later, in another part.
func TestSelectTime(t *testing.T) {
	hidden := []string{"thread-exec.trace", "wake-race.trace", "losses.trace", "python-start.txt"}
	for _, file := range traces(t) {
		if slices.Contains(hidden, filepath.Base(file)) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			source := parseFile(t, file)
			tl, err := timeline.Build(source)
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(3) {
				from, to := tl.Start+i*tl.Duration()/3, tl.Start+(i+1)*tl.Duration()/3
				part, err := Select(source, Selection{From: from, To: to})
				if err != nil {
					t.Fatal(err)
				}
				exact := tl.Complete() && len(tl.Losses) == 0
				checkPart(t, timesBetween(t, part, 0, forever), timesBetween(t, source, from, to), exact)
			}
		})
	}
}

func checkPart(t *testing.T, got, want map[string]*timeline.Times, exact bool) {
	t.Helper()
	for name, times := range got {
		if want[name] == nil {
			t.Errorf("thread %s has %v in the part and nothing in the whole", name, *times)
			continue
		}
		for s := timeline.Running; s < timeline.NumStates; s++ {
			if times[s] > want[name][s] {
				t.Errorf("thread %s is %s for %d ns of the part, and for %d ns of the whole then", name, s, times[s], want[name][s])
			}
		}
	}
	if !exact {
		return
	}
	for name, times := range want {
		for _, s := range []timeline.State{timeline.Sleeping, timeline.Stopped} {
			if got[name] == nil && times[s] > 0 || got[name] != nil && got[name][s] != times[s] {
				t.Errorf("thread %s is %s for %d ns, and in the part %+v", name, s, times[s], got[name])
			}
		}
	}
}

// TestSelectProcess wants the whole of a process and of no other, in every format.
func TestSelectProcess(t *testing.T) {
	for _, tt := range []struct {
		selection Selection
		running   string // nanoseconds by thread id
	}{
		{Selection{Process: "daemon"}, "map[100:6000000 101:1400000]"},
		{Selection{Process: "100"}, "map[100:7900000 101:1400000]"},
		{Selection{Unit: "daemon.service"}, "map[100:6000000 101:1400000]"},
		{Selection{Process: "bootscope"}, "map[90:11000000]"},
		{Selection{Process: "systemd"}, "map[]"},
		{Selection{Process: "daemon", From: 10_002_000_000, To: 10_007_500_000}, "map[100:3500000 101:900000]"},
	} {
		part, err := Select(story(t), tt.selection)
		if err != nil {
			t.Fatal(err)
		}
		running := map[string]uint64{}
		for tid, times := range timesBetween(t, part, 0, forever) {
			if times[timeline.Running] > 0 {
				running[tid] = times[timeline.Running]
			}
		}
		if got := fmt.Sprint(running); got != tt.running {
			t.Errorf("%+v: threads run for %s, want %s", tt.selection, got, tt.running)
		}
		chromeWith(t, part, Options{Compat: true, Flows: true})
		reread(t, part)
		pprofOf(t, part)
		perfData(t, part, true)
	}
}

func TestSelectNothing(t *testing.T) {
	for want, selection := range map[string]Selection{
		`there is no process "nobody"`:                               {Process: "nobody"},
		`no process is part of unit "x.service"`:                     {Unit: "x.service"},
		"there is nothing from 11.000000 s to 10.020000 s":           {From: 11e9},
		"there is nothing from 0.000000 s to 5.000000 s":             {To: 5e9},
		"the recording goes from 10.000000 s to 10.020000 s after b": {From: 3e9, To: 2e9},
	} {
		_, err := Select(story(t), selection)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", selection, err, want)
		}
	}
	source := story(t)
	if all, err := Select(source, Selection{}); err != nil || all != tracefile.Source(source) {
		t.Errorf("no selection changes the source: %v", err)
	}
}

// TestSelectFindings: what is to be fixed doesn't depend on which part is exported.
func TestSelectFindings(t *testing.T) {
	source := parseFile(t, "report/testdata/hogs.trace")
	part, err := Select(source, Selection{To: source.Header().Start + 1e6})
	if err != nil {
		t.Fatal(err)
	}
	if b := chrome(t, part); !bytes.Contains(b, []byte(`"id":"cpu-contention"`)) {
		t.Errorf("no finding in\n%s", b)
	}
}

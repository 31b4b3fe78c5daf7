package export

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// TestPerfStories reads what every trace becomes for perf. Where nothing hides who ran, the run times are the
// timeline's, to the nanosecond.
func TestPerfStories(t *testing.T) {
	for _, file := range traces(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source := parseFile(t, file)
			tl, err := timeline.Build(source)
			if err != nil {
				t.Fatal(err)
			}
			perfData(t, source, false)
			got := perfRunTimes(perfData(t, source, true))
			want := map[uint32]uint64{}
			for _, th := range tl.Threads {
				if want[th.TID] += th.Times[timeline.Running]; th.MaybeRan > 0 {
					return
				}
			}
			for tid, ns := range want {
				if got[tid] != ns {
					t.Errorf("thread %d ran %d ns, want %d", tid, got[tid], ns)
				}
			}
		})
	}
}

// TestEstimate compares estimates with the sizes that come out, for switches alone.
func TestEstimate(t *testing.T) {
	counts, err := Count(switches(100_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"perfetto", "chrome", "perf"} {
		format, _ := Find(name)
		for _, options := range []Options{{}, {Compat: true}} {
			if options.Compat && !format.Options {
				continue
			}
			var b bytes.Buffer
			if err := format.Write(&b, switches(100_000), options); err != nil {
				t.Fatal(err)
			}
			got := format.Estimate(counts, options)
			if ratio := float64(got) / float64(b.Len()); math.Abs(ratio-1) > 0.4 {
				t.Errorf("%s %+v: %d bytes were estimated, %d come out", name, options, got, b.Len())
			}
		}
	}
}

// TestCounters: the averages add up to the time in the state, and the bytes to what was read.
func TestCounters(t *testing.T) {
	for _, file := range traces(t) {
		source := parseFile(t, file)
		tl, err := timeline.Build(source)
		if err != nil {
			t.Fatal(err)
		}
		c := newChromeCounters(tl)
		if _, err := timeline.Build(source, c); err != nil {
			t.Fatal(err)
		}
		var want timeline.Times
		var bytes uint64
		for _, p := range tl.Processes {
			want.Add(&p.Times)
		}
		for _, f := range tl.Files {
			bytes += f.Reads.Bytes
		}
		got := fmt.Sprint(sum(c.runnable), sum(c.waiting), sum(c.read))
		if got != fmt.Sprint(want[timeline.Runnable], want[timeline.IOWait], bytes) {
			t.Errorf("%s: %s, want %v and %d bytes", file, got, want, bytes)
		}
	}
}

func sum(list []uint64) (s uint64) {
	for _, n := range list {
		s += n
	}
	return s
}

// TestMilestones wants milestones, with where they come from, in both formats for viewers.
func TestMilestones(t *testing.T) {
	source := parse(t, "milestones", perfettoHeader+`1.5 0 milestone tail="ready\x00unit:web.service\x00"
1.6 [0] 1 switch next=2 state=sleeping
`)
	found := false
	trace := reread(t, source)
	for _, e := range trace.Events {
		found = found || e.Name == "ready" && e.Time == 1_500_000_000 && e.Args["source"] == "unit:web.service" && trace.Tracks[e.Track].Name == "Milestones"
	}
	if !found {
		t.Errorf("perfetto has %+v", trace.Events)
	}
	const want = `"ts":1500000.000,"name":"ready","s":"t","args":{"source":"unit:web.service"}`
	if got := chrome(t, source); !bytes.Contains(got, []byte(want)) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

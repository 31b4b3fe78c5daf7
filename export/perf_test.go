package export

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func perfStory(t testing.TB) *tracefile.Text {
	t.Helper()
	name := filepath.Join("testdata", "perf-story.txt")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, name, string(text))
}

// perfData exports a trace and reads it again.
func perfData(t testing.TB, source tracefile.Source, tracepoints bool) *perfFile {
	t.Helper()
	var b bytes.Buffer
	if err := writePerfData(&b, source, tracepoints); err != nil {
		t.Fatal(err)
	}
	f, err := readPerf(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPerfGolden(t *testing.T) {
	for name, source := range map[string]tracefile.Source{
		"export_story_format_perf.golden":      story(t),
		"export_perf-story_format_perf.golden": perfStory(t),
	} {
		golden.Check(t, name, perfData(t, source, true).String())
	}
	golden.Check(t, "export_perf-story_format_perf-samples.golden", perfData(t, perfStory(t), false).String())
}

// TestPerfDescription is about what readers ask of a file besides its records.
func TestPerfDescription(t *testing.T) {
	full, samples := perfData(t, perfStory(t), true), perfData(t, perfStory(t), false)
	for _, f := range []*perfFile{full, samples} {
		last := f.attrs[len(f.attrs)-1]
		if last.name != "cpu-clock" || last.kind != 1 || last.config != 0 {
			t.Errorf("the last event is %s, type %d config %d", last.name, last.kind, last.config)
		}
		if cpus := f.features[7]; u32(cpus) != 4 || u32(cpus[4:]) != 2 {
			t.Errorf("%d CPUs, %d online, want 4 and 2", u32(cpus), u32(cpus[4:]))
		}
	}
	if times := full.features[21]; u64(times) != 10_000_000_000 || u64(times[8:]) != 10_020_000_000 {
		t.Errorf("samples from %d to %d", u64(times), u64(times[8:]))
	}
	if formats := full.features[1]; !bytes.HasPrefix(formats, []byte("\x17\x08\x44tracing0.6\x00\x00\x08")) {
		t.Errorf("tracing data begins with %q", formats[:min(len(formats), 16)])
	}
	if _, has := samples.features[1]; has || len(samples.attrs) != 1 {
		t.Errorf("the file without tracepoints has %d events, formats: %t", len(samples.attrs), has)
	}
	checkBuildIDs(t, full.features[2])
}

// checkBuildIDs wants the kernel, then the two files whose ids are known.
func checkBuildIDs(t *testing.T, b []byte) {
	t.Helper()
	var names []string
	for len(b) > 0 {
		size := u16(b[6:])
		if size%8 != 0 || int(size) > len(b) {
			t.Fatalf("build id record of %d bytes, %d left", size, len(b))
		}
		names = append(names, cText(b[36:size]))
		b = b[size:]
	}
	if got := strings.Join(names, "|"); got != "[kernel.kallsyms]|/usr/bin/daemon|/tmp/lib\nhostile\xff.so" {
		t.Errorf("build ids of %q", got)
	}
}

// perfRunTimes adds up run times as perf sched does: from one switch of a CPU to the next.
func perfRunTimes(f *perfFile) map[uint32]uint64 {
	times, since := map[uint32]uint64{}, map[uint32]uint64{}
	for i := range f.records {
		r := &f.records[i]
		if r.kind != 9 || f.attrs[r.attr].name != "sched:sched_switch" {
			continue
		}
		if prev := u32(r.raw[24:]); prev != 0 {
			times[prev] += r.time - since[r.cpu]
		}
		since[r.cpu] = r.time
	}
	return times
}

// TestPerfRunTimes compares run times with the timeline's, to the nanosecond where nothing was lost.
func TestPerfRunTimes(t *testing.T) {
	for name, text := range map[string]string{
		"runs from the begin to the end": `10.5 [000] 5 switch next=6 state=preempted
11.0 [001] 7 waking target=8
`,
		"two CPUs": `10.1 [000] 5 switch next=6 state=sleeping
10.2 [001] ?/0 switch next=7
10.3 [001] 7 switch next=8 state=preempted
10.4 [000] 6 switch next=7 state=sleeping
10.5 [001] 8 switch next=0 state=dead
`,
		"before the begin": `9.9 [000] 5 switch next=6 state=sleeping
9.95 [000] 6 switch next=5 state=sleeping
10.3 [000] 5 switch next=0 state=sleeping
`,
		"lost": `10.1 [000] 5 switch next=6 state=sleeping
10.2 [000] 0 lost count=3 probe=sched reason=full
10.3 [000] 7 switch next=8 state=sleeping
`,
	} {
		header := `header {"start_ns":10000000000,"probes":[{"name":"sched","status":"on"},{"name":"process","status":"on"}]}` + "\n"
		source := parse(t, name, header+text+`trailer {"end_ns":12000000000}`+"\n")
		tl, err := timeline.Build(source)
		if err != nil {
			t.Fatal(err)
		}
		got := perfRunTimes(perfData(t, source, true))
		for _, th := range tl.Threads {
			if want := th.Times[timeline.Running]; got[th.TID] != want {
				t.Errorf("%s: thread %d ran %d ns, want %d", name, th.TID, got[th.TID], want)
			}
		}
	}
}

// TestPerfCut: a recording that was cut off has records of all that was seen.
func TestPerfCut(t *testing.T) {
	name := filepath.Join("testdata", "perf-story.txt")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i := range lines {
		cut := strings.Join(lines[:i], "")
		if !strings.Contains(cut, "header") {
			continue
		}
		perfData(t, parse(t, name, cut), true)
	}
}

func TestPerfWriteError(t *testing.T) {
	for _, after := range []int{0, 1000, 1 << 20} {
		full := errors.New("no space left on device")
		err := writePerf(&limitedWriter{left: after, err: full}, switches(100_000))
		if !errors.Is(err, full) {
			t.Errorf("room for %d bytes: got error %v, want %v", after, err, full)
		}
	}
}

// TestPerfMemory compares the peak for few and for many context switches.
func TestPerfMemory(t *testing.T) {
	peak := func(n int) uint64 {
		w := &heapWatcher{}
		if err := writePerf(w, switches(n)); err != nil {
			t.Fatal(err)
		}
		return w.peak
	}
	few, many := peak(20_000), peak(400_000)
	if many > few+1<<20 {
		t.Errorf("heap of %d bytes for 20,000 switches, %d for 400,000: it grows with their number", few, many)
	}
}

func FuzzPerf(f *testing.F) {
	for _, name := range []string{storyFile, filepath.Join("testdata", "perf-story.txt")} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("1.5 [009] 4294967295 fork child_tid=0 child_pid=4294967295\n1.6 [000] 0 exec old_tid=7\n")
	f.Fuzz(func(t *testing.T, text string) {
		source, err := tracefile.ParseText("fuzz", strings.NewReader(text))
		if err != nil {
			t.Skip()
		}
		var b bytes.Buffer
		if err := writePerf(&b, source); err != nil {
			t.Skip()
		}
		if _, err := readPerf(b.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

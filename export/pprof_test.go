package export

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// pprofOf exports a trace and reads it again.
func pprofOf(t testing.TB, source tracefile.Source) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := writePprof(&b, source); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

func traceFile(t testing.TB, name string) *tracefile.Text {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, name, string(text))
}

func TestPprofGolden(t *testing.T) {
	golden.Check(t, "export_story_format_pprof.golden", describe(pprofOf(t, story(t))))
	boot := pprofOf(t, traceFile(t, "testdata/pprof-boot.txt"))
	if boot.TimeNanos != 1_700_000_000e9 || boot.DurationNanos != 2e9 || boot.DefaultSampleType != "cpu" {
		t.Errorf("begins at %d, lasts %d ns, shows %s", boot.TimeNanos, boot.DurationNanos, boot.DefaultSampleType)
	}
	golden.Check(t, "export_pprof-boot_format_pprof.golden", describe(boot))
}

// describe lists a profile, without its time, which depends on the time zone here.
func describe(p *profile.Profile) string {
	p.TimeNanos = 0
	return p.String()
}

// TestPprofTotals compares the times of each thread id with the timeline's, to the nanosecond.
func TestPprofTotals(t *testing.T) {
	for _, file := range append(traces(t), "testdata/perf-story.txt", "testdata/pprof-boot.txt") {
		source := traceFile(t, file)
		tl, err := timeline.Build(source)
		if err != nil {
			t.Fatal(err)
		}
		if !tl.Can.Sched {
			continue
		}
		got, want := pprofTimes(pprofOf(t, source)), timelineTimes(tl)
		if got != want {
			t.Errorf("%s: profile:\n%stimeline:\n%s", file, got, want)
		}
	}
}

// pprofTimes lists the times by thread id and type of sample, and checks that wall is their sum.
func pprofTimes(p *profile.Profile) string {
	times := map[string]int64{}
	for _, s := range p.Sample {
		wall := int64(0)
		for i, kind := range p.SampleType {
			switch {
			case kind.Type == "wall":
				if s.Value[i] != wall {
					return fmt.Sprintf("wall is %d, the others sum up to %d", s.Value[i], wall)
				}
			case kind.Unit == "nanoseconds" && s.Value[i] != 0:
				wall += s.Value[i]
				times[fmt.Sprintf("%d/%d %s", s.NumLabel["pid"][0], s.NumLabel["tid"][0], kind.Type)] += s.Value[i]
			}
		}
	}
	return listTimes(times)
}

func timelineTimes(tl *timeline.Timeline) string {
	times := map[string]int64{}
	for _, th := range tl.Threads {
		for name, state := range map[string]timeline.State{"cpu": timeline.Running, "runnable": timeline.Runnable,
			"io_wait": timeline.IOWait, "blocked": timeline.Blocked, "sleep": timeline.Sleeping} {
			times[fmt.Sprintf("%d/%d %s", th.Process.PID, th.TID, name)] += int64(th.Times[state])
		}
	}
	return listTimes(times)
}

func listTimes(times map[string]int64) string {
	var lines []string
	for name, ns := range times {
		if ns != 0 {
			lines = append(lines, fmt.Sprintf("%s %d\n", name, ns))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

// TestPprofNames: whatever names a trace has, the profile's are text that a terminal can take.
func TestPprofNames(t *testing.T) {
	p := pprofOf(t, story(t))
	var names []string
	for _, f := range p.Function {
		names = append(names, f.Name, f.Filename)
	}
	for _, s := range p.Sample {
		names = append(append(names, s.Label["thread"]...), s.Label["unit"]...)
	}
	for _, name := range append(names, p.Comments...) {
		if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("name %q", name)
		}
	}
}

// TestPprofReads compares the bytes with the timeline's, also those of a thread that nothing is known of.
func TestPprofReads(t *testing.T) {
	source := traceFile(t, "testdata/pprof-boot.txt")
	tl, err := timeline.Build(source)
	if err != nil {
		t.Fatal(err)
	}
	var want timeline.Reads
	for _, f := range tl.Files {
		want.Bytes += f.Reads.Bytes
		want.Again += f.Reads.Again
	}
	got := map[string]int64{}
	p := pprofOf(t, source)
	for _, s := range p.Sample {
		for i, kind := range p.SampleType {
			got[kind.Type] += s.Value[i]
		}
	}
	if got["read_bytes"] != int64(want.Bytes) || got["reread_bytes"] != int64(want.Again) || want.Bytes != 9<<12 || want.Again != 2<<12 {
		t.Errorf("%d bytes read, %d of them again; want %d and %d", got["read_bytes"], got["reread_bytes"], want.Bytes, want.Again)
	}
}

// TestPprofTypes: what a recording can't tell is absent.
func TestPprofTypes(t *testing.T) {
	const text = `header {"start_ns":1000000000,"probes":[{"name":"sched","status":"on","via":"%s"}%s]}
1.1 [000] 1 switch next=0 state=blocked
1.2 [000] 0 waking target=1
1.3 [000] ?/0 switch next=1
trailer {"end_ns":2000000000}
`
	const read = `,{"name":"read","status":"on"}`
	for _, tt := range []struct{ via, other, want string }{
		{"tp_btf", "", "cpu runnable io_wait blocked sleep wall"},
		{"tp_btf", read, "cpu runnable io_wait blocked sleep wall read_bytes reread_bytes"},
		{"tracepoint/sched_switch", "", "cpu runnable blocked sleep wall"},
	} {
		var types []string
		for _, kind := range pprofOf(t, parse(t, tt.via, fmt.Sprintf(text, tt.via, tt.other))).SampleType {
			types = append(types, kind.Type)
		}
		if got := strings.Join(types, " "); got != tt.want {
			t.Errorf("via %s%s the types are %s, want %s", tt.via, tt.other, got, tt.want)
		}
	}
}

func TestPprofWithoutSched(t *testing.T) {
	source := parse(t, "none", `header {"start_ns":1,"probes":[{"name":"sched","status":"off","reason":"no tracepoints"}]}`+"\n")
	err := writePprof(&bytes.Buffer{}, source)
	if err == nil || !strings.Contains(err.Error(), "sched is off: no tracepoints") {
		t.Errorf("got error %v", err)
	}
}

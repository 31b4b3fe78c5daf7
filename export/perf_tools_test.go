package export

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// writeTrace exports a trace to a file, for tools.
func writeTrace(t testing.TB, source tracefile.Source, format string) string {
	t.Helper()
	f, ok := Find(format)
	if !ok {
		t.Fatalf("no format %q", format)
	}
	name := filepath.Join(t.TempDir(), "t"+f.Ending)
	w, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := f.Write(w, source, Options{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// tool runs a program on a file and returns what it printed; stderr only shows when it fails.
func tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	var errs strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "PERF_CONFIG=/dev/null")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, errs.String())
	}
	return string(out)
}

// TestPerfTools lets perf read the story.
func TestPerfTools(t *testing.T) {
	full, samples := writeTrace(t, perfStory(t), "perf"), writeTrace(t, perfStory(t), "perf-samples")
	// Thread 51 ran 1.1 ms; 100 ran 9.0 ms and then, as another process, 8.9 ms; 101 ran 1.9 ms and, until
	// the loss, 0.9 ms.
	tests := []struct {
		name string
		args []string
		want []string // regular expressions
	}{
		{"report", []string{"report", "-i", full, "--stdio", "--sort", "dso"}, []string{
			`events? 'sched:sched_switch'`, `event 'cpu-clock'`, `40\.00% +libold\.so`, `20\.00% +daemon`, `20\.00% +\[kernel`}},
		{"report of samples", []string{"report", "-i", samples, "--stdio", "--sort", "comm"}, []string{
			`Total Lost Samples: 0`, `Samples: 5  of event 'cpu-clock'`, `40\.00% +daemon`, `20\.00% +old-worker`}},
		{"header", []string{"report", "-i", full, "--header-only"}, []string{
			`os release : 6.1.0-18-arm64`, `arch : aarch64`, `nrcpus online : 2`, `nrcpus avail : 4`,
			`cmdline : daemon --now`, `time of first sample : 10.000000`, `time of last sample : 10.020000`}},
		{"script", []string{"script", "-i", full, "-F", "comm,pid,tid,cpu,time,event,ip,dso,trace"}, []string{
			`old-worker +50/51 +\[000\] +10.000010: +cpu-clock: +7f0000001000 \(/usr/lib/libold.so\)`,
			`daemon +100/100 +\[000\] +10.002000: +cpu-clock: +400100 \(/usr/bin/daemon\)`,
			`cpu-clock: +ffff800010000000 \(\[kernel`,
			`100/100 +\[000\] +10.006000: +sched:sched_waking: .*pid=101 target_cpu=001`,
			`sched:sched_switch: prev_comm=daemon prev_pid=100 prev_state=X ==> next_comm=swapper next_pid=0`,
			`100/100 +\[001\] +10.012000: +cpu-clock: +7f0000002000 \(/usr/lib/libold.so\)`}},
		{"build ids", []string{"buildid-list", "-i", full}, []string{
			`7e9f6f1c000040008000000000000001 +\[kernel.kallsyms\]`, `0102030405060708090a0b0c0d0e0f1011121314 /usr/bin/daemon`}},
		{"timehist", []string{"sched", "-i", full, "timehist", "-s"}, []string{
			`old-worker\[51/50\] +50 +2 +1\.100`, `daemon\[100\] +\d+ +1 +9\.000`, `old\[100\] +50 +1 +8\.900`, `\[101/100\] +100 +2 +2\.800`}},
		{"latency", []string{"sched", "-i", full, "latency"}, []string{
			`old-worker:51 +\| +1\.100 ms`, `TOTAL: +\| +21\.800 ms`, `101 +\| +2\.800 ms .*max: +0\.100 ms`}},
		{"map", []string{"sched", "-i", full, "map"}, []string{`A0 => old-worker:51`, `10.011100 secs \w+ => old:100`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := tool(t, "perf", tt.args...)
			for _, want := range tt.want {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("no %s in\n%s", want, out)
				}
			}
		})
	}
}

// TestPerfToProfile lets google/perf_data_converter read the story.
func TestPerfToProfile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "t.pb.gz")
	for _, format := range []string{"perf", "perf-samples"} {
		tool(t, "perf_to_profile", "-f", "-i", writeTrace(t, perfStory(t), format), "-o", out)
		if top := tool(t, pprofTool(t), "-top", out); !strings.Contains(top, "cpu-clock") {
			t.Errorf("%s: pprof shows\n%s", format, top)
		}
	}
}

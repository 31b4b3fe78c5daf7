//go:build linux && kerneltest

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// nativeLoad keeps libraries busy: the interpreter's own, zlib, the C library, the digests of OpenSSL.
const nativeLoad = `
import hashlib, json, time, zlib, threading
def work(until):
    data = bytes(range(256)) * 400
    while time.monotonic() < until:
        zlib.compress(data, 9); hashlib.sha256(data).digest(); json.dumps(list(range(3000))); sorted(data)
until = time.monotonic() + 1.2
threads = [threading.Thread(target=work, args=(until,)) for _ in range(2)]
[t.start() for t in threads]
while time.monotonic() < until: time.sleep(0.002)
[t.join() for t in threads]`

// recordNativeLoad records two such programs, of which one was there before, exports the recording in some
// formats, and returns its model.
func recordNativeLoad(t *testing.T, dir string, formats ...string) *timeline.Timeline {
	t.Helper()
	before := exec.Command("/usr/bin/python3", "-c", nativeLoad)
	if err := before.Start(); err != nil {
		t.Fatal(err)
	}
	defer before.Wait()
	r := bootscope(t, dir, nil, "record", "-o", "t.bst", "--", "/usr/bin/python3", "-c", nativeLoad)
	if r.status != 0 {
		t.Fatalf("record: %+v", r)
	}
	for _, format := range formats {
		if r := bootscope(t, dir, nil, "export", "t.bst", "-f", format, "-o", format); r.status != 0 {
			t.Fatalf("export of %s: %+v", format, r)
		}
	}
	source, err := tracefile.Open(filepath.Join(dir, "t.bst"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	tl, err := timeline.Build(source)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// perf runs perf in a directory and returns what it printed.
func perf(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("perf is not installed (package linux-perf)")
	}
	var errs strings.Builder
	cmd := exec.Command("perf", args...)
	cmd.Dir, cmd.Stderr = dir, &errs
	cmd.Env = append(os.Environ(), "PERF_CONFIG=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("perf %q: %v\n%s%s", args, err, out, errs.String())
	}
	return string(out)
}

// TestExportPerfOfThisMachine lets perf read a recording: it must give the run times that the timeline has,
// and name the libraries.
func TestExportPerfOfThisMachine(t *testing.T) {
	dir := t.TempDir()
	tl := recordNativeLoad(t, dir, "perf", "perf-samples")
	t.Run("run times", func(t *testing.T) { comparePerfTimes(t, tl, perf(t, dir, "sched", "-i", "perf", "timehist", "-s")) })
	t.Run("latency", func(t *testing.T) { comparePerfTotal(t, tl, perf(t, dir, "sched", "-i", "perf", "latency")) })
	for _, file := range []string{"perf", "perf-samples"} {
		t.Run("libraries in "+file, func(t *testing.T) {
			comparePerfLibraries(t, tl, perf(t, dir, "script", "-i", file, "-F", "pid,tid,time,event,ip,sym,dso", "--no-inline"))
			report := perf(t, dir, "report", "-i", file, "--stdio", "--sort", "comm,dso")
			for _, library := range []string{"python3", "libz.so", "libcrypto.so", "kernel"} {
				if !strings.Contains(report, library) {
					t.Errorf("perf report shows no %s:\n%s", library, report)
				}
			}
		})
	}
}

// A line of perf sched timehist: name[tid/pid], parent, how often it ran, run time in ms.
var timehistLine = regexp.MustCompile(`(?m)\[(\d+)(?:/\d+)?\] +-?\d+ +\d+ +([0-9.]+) `)

func comparePerfTimes(t *testing.T, tl *timeline.Timeline, out string) {
	got, want := map[uint64]float64{}, map[uint64]float64{}
	for _, m := range timehistLine.FindAllStringSubmatch(out, -1) {
		tid, _ := strconv.ParseUint(m[1], 10, 32)
		ms, _ := strconv.ParseFloat(m[2], 64)
		got[tid] += ms
	}
	for _, th := range tl.Threads {
		want[uint64(th.TID)] += float64(th.Times[timeline.Running]) / 1e6
	}
	compared := 0
	for tid, ms := range want {
		// perf rounds each thread to 1 us.
		if math.Abs(got[tid]-ms) > 0.01*ms+0.002 {
			t.Errorf("thread %d: %.3f ms in perf, %.3f ms in the timeline", tid, got[tid], ms)
		}
		compared++
	}
	if compared < 20 {
		t.Errorf("only %d threads:\n%s", compared, out)
	}
	t.Logf("%d threads", compared)
}

func comparePerfTotal(t *testing.T, tl *timeline.Timeline, out string) {
	want := 0.0
	for _, th := range tl.Threads {
		want += float64(th.Times[timeline.Running]) / 1e6
	}
	m := regexp.MustCompile(`TOTAL: +\| +([0-9.]+) ms`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no total in\n%s", out)
	}
	got, _ := strconv.ParseFloat(m[1], 64)
	if math.Abs(got-want) > 0.01*want {
		t.Errorf("perf's total is %.3f ms, the timeline's %.3f ms", got, want)
	}
	t.Logf("perf's total is %.3f ms, the timeline's %.3f ms", got, want)
}

// A sample in perf script's output: process, thread, time, event, address, symbol, (library).
var sampleLine = regexp.MustCompile(`(?m)^ *(\d+)/\d+ +[0-9.]+: +cpu-clock: +([0-9a-f]+) (.*) \((.*)\)$`)

// comparePerfLibraries wants a library for 95 % of the samples of the two programs.
func comparePerfLibraries(t *testing.T, tl *timeline.Timeline, out string) {
	ours := map[string]bool{}
	for _, p := range tl.Processes {
		if len(p.Argv) > 2 && p.Argv[0] == "/usr/bin/python3" && p.Argv[2] == nativeLoad {
			ours[fmt.Sprint(p.PID)] = true
		}
	}
	all, named, symbols, kernel := 0, 0, 0, 0
	for _, m := range sampleLine.FindAllStringSubmatch(out, -1) {
		if !ours[m[1]] {
			continue
		}
		if m[4] == "[kernel.kallsyms]" {
			kernel++
			continue
		}
		all++
		if m[4] != "[unknown]" {
			named++
		}
		if m[3] != "[unknown]" {
			symbols++
		}
	}
	if len(ours) != 2 || all < 50 || named*100 < all*95 {
		t.Errorf("%d programs: perf names the library of %d of %d samples", len(ours), named, all)
	}
	t.Logf("perf names the library of %d of %d samples, the symbol of %d; %d in the kernel", named, all, symbols, kernel)
}

// TestExportPprofOfThisMachine compares a profile with the timeline, to the nanosecond and the byte.
func TestExportPprofOfThisMachine(t *testing.T) {
	dir := t.TempDir()
	tl := recordNativeLoad(t, dir, "pprof")
	file, err := os.Open(filepath.Join(dir, "pprof"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, th := range tl.Threads {
		for name, state := range map[string]timeline.State{"cpu": timeline.Running, "runnable": timeline.Runnable,
			"io_wait": timeline.IOWait, "blocked": timeline.Blocked, "sleep": timeline.Sleeping} {
			want[name] += int64(th.Times[state])
			want["wall"] += int64(th.Times[state])
		}
	}
	for _, f := range tl.Files {
		want["read_bytes"] += int64(f.Reads.Bytes)
		want["reread_bytes"] += int64(f.Reads.Again)
	}
	for i, kind := range p.SampleType {
		got := int64(0)
		for _, s := range p.Sample {
			got += s.Value[i]
		}
		if got != want[kind.Type] {
			t.Errorf("%s is %d %s, want %d", kind.Type, got, kind.Unit, want[kind.Type])
		}
		t.Logf("%s: %d %s", kind.Type, got, kind.Unit)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", filepath.Join(dir, "pprof")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "python3 -c") {
		t.Errorf("pprof: %v\n%s", err, out)
	}
}

//go:build linux && kerneltest

package record_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// mountTracefs makes tracefs available to perf while the test runs.
func mountTracefs(t *testing.T) {
	t.Helper()
	const dir = "/sys/kernel/tracing"
	if _, err := os.Stat(dir + "/events"); err == nil {
		return
	}
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
		t.Fatalf("perf needs tracefs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

// perfCounts runs a command that records under perf stat, which counts events of the whole machine from
// just before it starts its own command until just after.
func perfStat(counts string, events []string, command ...string) []string {
	return append([]string{"perf", "stat", "-a", "-x;", "-o", counts, "-e", strings.Join(events, ","), "--"}, command...)
}

func readCounts(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(string(text)))
	r.Comma, r.Comment, r.FieldsPerRecord = ';', '#', -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, row := range rows {
		n, err := strconv.ParseUint(row[0], 10, 64)
		if err != nil {
			t.Fatalf("perf stat counted %q", row)
		}
		counts[row[2]] = n
	}
	return counts
}

// commandSpan returns the time from the exec of perf's command until its exit.
func commandSpan(t *testing.T, tr *trace, name string) (from, to uint64) {
	t.Helper()
	for _, x := range of[*event.Exec](tr, 0) {
		if filepath.Base(string(x.TailBytes())) != name {
			continue
		}
		for _, exit := range of[*event.Exit](tr, int(x.PID)) {
			if exit.TID == x.PID {
				return x.Time, exit.Time
			}
		}
	}
	t.Fatalf("the trace has no exec of %s with its exit", name)
	return 0, 0
}

// within counts switches and wakings in a span of time, and what was lost of both.
func within(t *testing.T, tr *trace, from, to uint64) (switches, wakings, lost uint64) {
	t.Helper()
	for e, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if at := e.Head().Time; at < from || at > to {
			continue
		}
		switch e := e.(type) {
		case *event.Switch:
			switches++
		case *event.Waking:
			wakings++
		case *event.Lost:
			if event.Probe(e.Probe) == event.ProbeSched {
				lost += e.Count
			}
		}
	}
	return switches, wakings, lost
}

func checkCount(t *testing.T, what string, got, want uint64) {
	t.Helper()
	t.Logf("%s: %d in the trace, %d according to perf stat: off by %.3f %%", what, got, want,
		100*float64(distance(got, want))/float64(want))
	if distance(got, want)*200 > want {
		t.Errorf("%s: %d in the trace, %d according to perf stat, want a difference under 0.5 %%", what, got, want)
	}
}

// TestSwitchesArePerfs counts the switches of the whole machine while two processes pass a byte to and fro.
func TestSwitchesArePerfs(t *testing.T) {
	mountTracefs(t)
	if _, err := exec.LookPath("perf"); err != nil {
		t.Fatalf("the witness is missing (package linux-perf): %v", err)
	}
	for _, tt := range []struct {
		name  string
		noBTF bool
	}{{"BTF", false}, {"no BTF", true}} {
		t.Run(tt.name, func(t *testing.T) {
			counts := filepath.Join(t.TempDir(), "counts")
			tr, _ := runWhole(t, record.Options{NoBTF: tt.noBTF, Command: perfStat(counts,
				[]string{"sched:sched_switch", "sched:sched_waking"}, "perf", "bench", "sched", "pipe", "-l", "100000")})
			from, to := commandSpan(t, tr, "perf")
			switches, wakings, lost := within(t, tr, from, to)
			want := readCounts(t, counts)
			checkCount(t, "switches", switches, want["sched:sched_switch"])
			checkCount(t, "wakings", wakings, want["sched:sched_waking"])
			if lost > 0 {
				t.Errorf("%d of both were lost", lost)
			}
		})
	}
}

//go:build linux && kerneltest

package record_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
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

// A bracket is when something happened: not before from, and before to.
type bracket struct{ from, to uint64 }

// A counted is a number of events between two moments of which bounds are known.
type counted struct {
	n          uint64
	begin, end bracket
}

// A perfCount is what was counted on the whole machine.
type perfCount struct{ switches, wakings counted }

// perfStat counts switches and wakings while work goes on. Perf doesn't see all switches at times: another
// program can hide events from it (one that is attached to a tracepoint and returns 0 does). So the kernel's
// own count of switches is looked at too. If perf counted fewer, work is done again, and in the end the
// kernel's own count is taken.
func perfStat(t *testing.T, work func()) (c perfCount) {
	t.Helper()
	mountTracefs(t)
	const attempts = 3
	for attempt := 1; ; attempt++ {
		var own counted
		c = perfStatOnce(t, func() {
			first, begin := contextSwitches(t)
			work()
			last, end := contextSwitches(t)
			own = counted{last - first, begin, end}
		})
		if c.switches.n >= own.n-own.n/200 {
			return c
		}
		t.Logf("perf stat counted %d switches, the kernel %d", c.switches.n, own.n)
		if attempt == attempts {
			c.switches = own
			return c
		}
	}
}

// contextSwitches returns the kernel's own count since boot, and when it was read.
func contextSwitches(t *testing.T) (n uint64, when bracket) {
	t.Helper()
	when.from = system.BootTime()
	text, err := os.ReadFile("/proc/stat")
	when.to = system.BootTime()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nctxt ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("/proc/stat: %v", err)
	}
	return n, when
}

func perfStatOnce(t *testing.T, work func()) perfCount {
	t.Helper()
	control, acknowledge := pipe(t), pipe(t)
	output := filepath.Join(t.TempDir(), "counts")
	perf := exec.Command("perf", "stat", "-a", "-x;", "-o", output, "-e", "sched:sched_switch,sched:sched_waking",
		"-D", "-1", "--control", "fd:3,4")
	perf.ExtraFiles = []*os.File{control.r, acknowledge.w}
	wait := start(t, perf)
	tell := func(command string) bracket {
		b := bracket{from: system.BootTime()}
		control.w.WriteString(command + "\n")
		acknowledge.r.SetReadDeadline(time.Now().Add(20 * time.Second))
		answer := make([]byte, 16)
		if n, err := acknowledge.r.Read(answer); err != nil || !bytes.HasPrefix(answer[:n], []byte("ack")) {
			t.Fatalf("perf stat answers %q to %s: %v", answer[:n], command, err)
		}
		b.to = system.BootTime()
		return b
	}
	begin := tell("enable")
	work()
	end := tell("disable")
	perf.Process.Signal(unix.SIGINT)
	if r := wait(); r.status != 0 && r.status != 128+int(unix.SIGINT) {
		t.Fatalf("perf stat ended with status %d: %s", r.status, r.stderr)
	}
	counts := readCounts(t, output)
	return perfCount{
		switches: counted{counts["sched:sched_switch"], begin, end},
		wakings:  counted{counts["sched:sched_waking"], begin, end},
	}
}

type pipeEnds struct{ r, w *os.File }

func pipe(t *testing.T) pipeEnds {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return pipeEnds{r, w}
}

func readCounts(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(bytes.NewReader(text))
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

// A schedCount is how many sched events there are in a span of time.
type schedCount struct{ switches, wakings, lost uint64 }

func (tr *trace) schedCount(t *testing.T, from, to uint64) (c schedCount) {
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
			c.switches++
		case *event.Waking:
			c.wakings++
		case *event.Lost:
			if event.Probe(e.Probe) == event.ProbeSched {
				c.lost += e.Count
			}
		}
	}
	return c
}

// bounds returns the counts of the trace between which a witness's must lie.
func (tr *trace) bounds(t *testing.T, c counted) (least, most schedCount) {
	t.Helper()
	return tr.schedCount(t, c.begin.to, c.end.from), tr.schedCount(t, c.begin.from, c.end.to)
}

func checkCount(t *testing.T, what string, least, most, want uint64) {
	t.Helper()
	t.Logf("%s: %d to %d in the trace, the witness counted %d", what, least, most, want)
	if least > want+want/200 || most < want-want/200 {
		t.Errorf("%s: %d to %d in the trace, the witness counted %d; 0.5 %% are allowed", what, least, most, want)
	}
	if most-least > want/10 {
		t.Errorf("%s: between %d and %d is too wide to tell anything", what, least, most)
	}
}

// TestSwitchesArePerfs counts the switches of the whole machine while two processes pass a byte to and fro.
func TestSwitchesArePerfs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		noBTF bool
	}{{"BTF", false}, {"no BTF", true}} {
		t.Run(tt.name, func(t *testing.T) {
			s := startRecorder(t, record.Options{NoBTF: tt.noBTF})
			perf := perfStat(t, func() { run(t, exec.Command("perf", "bench", "sched", "pipe", "-l", "100000")) })
			tr := s.stop(t)
			least, most := tr.bounds(t, perf.switches)
			checkCount(t, "switches", least.switches, most.switches, perf.switches.n)
			least, most = tr.bounds(t, perf.wakings)
			checkCount(t, "wakings", least.wakings, most.wakings, perf.wakings.n)
			if most.lost > 0 {
				t.Errorf("%d of both were lost", most.lost)
			}
		})
	}
}

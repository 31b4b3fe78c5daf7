//go:build linux && kerneltest

package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const manyOpens = 30000

// manyOpener opens a file many times over a second or two.
var manyOpener = newLoad("many-opens", func([]string) int {
	for i := range manyOpens {
		must(unix.Close(must1(unix.Open("/dev/null", unix.O_RDONLY, 0))))
		if i%300 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return manyOpens
})

// TestCostIsRusages compares what the trace says of the recorder with what the kernel says of it.
func TestCostIsRusages(t *testing.T) {
	o := record.Options{Output: output(t), Command: manyOpener.argv()}
	cmd := recorder(t, o)
	wait := start(t, cmd)
	cpu := cpuAtEnd(t, cmd.Process.Pid)
	if r := wait(); r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	rss := uint64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	tr := readWhole(t, o.Output)
	self := tr.Trailer().Self
	t.Logf("CPU time %s (kernel: %s), at most %d KiB resident (kernel: %d), programs %s, attached in %s, %d bytes",
		ms(self.CPU), ms(cpu), self.MaxRSS>>10, rss>>10, ms(self.BPF), ms(self.Attach), self.BytesWritten)
	// It can't count what it does after it has written this down.
	if self.CPU > cpu+20e6 || self.CPU+50e6 < cpu {
		t.Errorf("CPU time %s, the kernel says %s", ms(self.CPU), ms(cpu))
	}
	if self.MaxRSS > rss || self.MaxRSS < rss/2 {
		t.Errorf("%d bytes resident, the kernel says %d", self.MaxRSS, rss)
	}
	if self.MaxRSS > 100<<20 {
		t.Errorf("%d MiB resident: too much for a small board", self.MaxRSS>>20)
	}
	if self.BPF == 0 || self.Attach == 0 {
		t.Errorf("run time of the programs %s, attached in %s", ms(self.BPF), ms(self.Attach))
	}
	info, err := os.Stat(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	// All but the trailer itself.
	if size := uint64(info.Size()); self.BytesWritten > size || self.BytesWritten < size-size/10 {
		t.Errorf("%d bytes written, the file has %d", self.BytesWritten, size)
	}
	checkPrograms(t, tr)
	checkWakeups(t, tr)
}

// cpuAtEnd waits until a process has ended and returns its CPU time, to 10 ms. Rusage has its command's in it.
func cpuAtEnd(t *testing.T, pid int) uint64 {
	t.Helper()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err1 := strconv.ParseUint(fields[11], 10, 64)
	system, err2 := strconv.ParseUint(fields[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return (user + system) * 10e6
}

// checkPrograms checks that the kernel counted the runs of each program that had events.
func checkPrograms(t *testing.T, tr *trace) {
	t.Helper()
	programs := map[string]tracefile.Program{}
	for _, p := range tr.Trailer().Programs {
		programs[p.Name] = p
		if p.Runs > 0 && (p.RunTime == 0 || p.RunTime/p.Runs > 100_000) {
			t.Errorf("program %s ran %d times in %s", p.Name, p.Runs, ms(p.RunTime))
		}
	}
	for _, name := range []string{"sched_switch", "sched_waking", "process_fork", "sys_exit"} {
		if p := programs[name]; p.Runs == 0 || p.Measured == 0 {
			t.Errorf("program %s ran %d times in %s of measuring", name, p.Runs, ms(p.Measured))
		}
	}
}

// checkWakeups checks that the recorder isn't woken for each event.
func checkWakeups(t *testing.T, tr *trace) {
	t.Helper()
	wakeups := uint64(0)
	recorder := process(t, tr.timeline(t), int(tr.Header().RecorderPID))
	for _, th := range recorder.Threads {
		wakeups += th.Wakeups
	}
	opens := len(of[*event.Open](tr, int(tr.Header().CommandPID)))
	t.Logf("the recorder was woken %d times, for %d opens and %d switches", wakeups, opens, tr.switches)
	if opens < manyOpens {
		t.Errorf("%d opens of %d were recorded", opens, manyOpens)
	}
	if wakeups > manyOpens/30 {
		t.Errorf("the recorder was woken %d times for %d opens", wakeups, opens)
	}
}

// earlyOpener does all its work at once, and then sleeps.
var earlyOpener = newLoad("early-opens", func([]string) int {
	for range manyOpens {
		must(unix.Close(must1(unix.Open("/dev/null", unix.O_RDONLY, 0))))
	}
	time.Sleep(4 * time.Second)
	return manyOpens
})

// TestCostIsExtrapolatedByEvents records a burst within the first second, when run times are measured, and
// a calm after it, in which programs cost next to nothing.
func TestCostIsExtrapolatedByEvents(t *testing.T) {
	tr, _ := earlyOpener.record(t, record.Options{})
	self, window := tr.Trailer().Self, tr.Trailer().Programs[0].Measured
	isSched := func(k event.Kind) bool { return k == event.KindSwitch || k == event.KindWaking }
	within, all := map[bool]float64{}, map[bool]float64{}
	for e, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		sched := isSched(event.Kind(e.Head().Kind))
		if all[sched]++; e.Head().Time < tr.Header().Start-self.Attach+window {
			within[sched]++
		}
	}
	var want float64
	for _, p := range tr.Trailer().Programs {
		sched := p.Name == "sched_switch" || p.Name == "sched_waking"
		want += float64(p.RunTime) * all[sched] / within[sched]
	}
	t.Logf("%.0f of %.0f switches and wakings, %.0f of %.0f other events in the %s with statistics: %s in all, want about %.3f ms",
		within[true], all[true], within[false], all[false], ms(window), ms(self.BPF), want/1e6)
	if within[false] < all[false]/2 {
		t.Skip("the events came later than the statistics: the machine is too busy")
	}
	// The time was five times longer in all.
	if float64(self.BPF) > 1.1*want || float64(self.BPF) < want/1.1 {
		t.Errorf("the programs ran for %s in all, want about %.0f ms", ms(self.BPF), want/1e6)
	}
}

// TestWithout switches probes off one by one: their events stay away, the others come.
func TestWithout(t *testing.T) {
	events := map[event.Probe]func(tr *trace) int{
		event.ProbeSched:   func(tr *trace) int { return tr.switches + tr.wakings },
		event.ProbeProcess: func(tr *trace) int { return len(of[*event.Fork](tr, 0)) + len(of[*event.Exec](tr, 0)) },
		event.ProbeOpen:    func(tr *trace) int { return len(of[*event.Open](tr, 0)) },
		event.ProbeSample:  func(tr *trace) int { return len(of[*event.Sample](tr, 0)) },
		event.ProbeMapping: func(tr *trace) int { return len(of[*event.Mapping](tr, int(tr.Header().CommandPID))) },
	}
	for off := range events {
		tr, _ := runWhole(t, record.Options{Without: []string{off.String()}, Command: []string{"sh", "-c", "for i in 1 2 3; do /bin/true; done"}})
		for probe, count := range events {
			if n := count(tr); (n == 0) != (probe == off) {
				t.Errorf("without %v there are %d events of %v", off, n, probe)
			}
		}
		if got := tr.probe(t, off); got.Status != tracefile.StatusOff || got.Reason == "" {
			t.Errorf("without %v its status is %+v", off, got)
		}
	}
}

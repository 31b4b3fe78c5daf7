//go:build linux && kerneltest

package record_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
)

const (
	smallBuffer = 256 << 10
	burstOpens  = 10000
	burstName   = "/no/such/file/in/the/burst"
	roundTime   = 1300 * time.Millisecond // in which the recorder looks at its losses at least once
)

// A burstTold is what the burst did, and between which moments.
type burstTold struct {
	PID      int
	From, To uint64
	// Others is how many files the rest of the machine opened, from a round before until the end.
	Others uint64
}

// burst stops a recorder, opens a missing file many times, and lets the recorder go on. A missing file
// has no path: one would be sent again at each open until it comes through.
var burst = newLoad("burst", func(args []string) burstTold {
	recorder := must1(strconv.Atoi(args[0]))
	opens := countOpens()
	before := opens.read()
	time.Sleep(roundTime) // what was lost before is marked
	told := burstTold{PID: unix.Getpid(), From: system.BootTime()}
	must(unix.Kill(recorder, unix.SIGSTOP))
	for range burstOpens {
		if _, err := unix.Open(burstName, unix.O_RDONLY, 0); err != unix.ENOENT {
			must(err)
		}
	}
	must(unix.Kill(recorder, unix.SIGCONT))
	time.Sleep(roundTime) // so is what was lost now
	told.To = system.BootTime()
	told.Others = opens.read() - before - burstOpens
	return told
})

// A counter counts events of the whole machine.
type counter []int // descriptors of perf events

// countOpens counts open calls of every kind that this architecture has.
func countOpens() (c counter) {
	for _, call := range []string{"openat", "open", "openat2", "creat"} {
		text, err := os.ReadFile("/sys/kernel/tracing/events/syscalls/sys_exit_" + call + "/id")
		if os.IsNotExist(err) {
			continue
		}
		must(err)
		id := must1(strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64))
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Size: unix.PERF_ATTR_SIZE_VER5}
		for cpu := range runtime.NumCPU() {
			c = append(c, must1(unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)))
		}
	}
	return c
}

func (c counter) read() (sum uint64) {
	for _, fd := range c {
		var b [8]byte
		must1(unix.Read(fd, b[:]))
		sum += binary.NativeEndian.Uint64(b[:])
	}
	return sum
}

// TestLossesAreCountedExactly makes a known number of opens, of which a small buffer holds a part. What the
// rest of the machine opens at the same time can be lost and counted as well, a file and its path each, so
// there are several attempts to see the exact number.
func TestLossesAreCountedExactly(t *testing.T) {
	mountTracefs(t)
	for _, noBTF := range []bool{false, true} {
		const attempts = 3
		for attempt := 1; attempt <= attempts; attempt++ {
			recorded, lost, others := recordBurst(t, noBTF)
			t.Logf("without BTF: %v; %d opens recorded and %d lost, of %d; %d by others", noBTF, recorded, lost, burstOpens, others)
			if recorded+lost < burstOpens || recorded+lost > burstOpens+2*others {
				t.Errorf("%d opens recorded and %d lost, of %d and %d by others", recorded, lost, burstOpens, others)
			}
			if recorded > 0 && lost > 0 && recorded+lost == burstOpens {
				break
			}
		}
	}
}

// recordBurst returns how many opens of the burst were recorded, how many were marked as lost then, and how
// many others there were.
func recordBurst(t *testing.T, noBTF bool) (recorded, lost, others uint64) {
	t.Helper()
	s := startRecorder(t, record.Options{NoBTF: noBTF, BufferBytes: smallBuffer})
	r := run(t, burst.command(strconv.Itoa(s.cmd.Process.Pid)))
	tr, told := s.stop(t), burst.told(t, r)
	for _, open := range of[*event.Open](tr, told.PID) {
		if string(open.TailBytes()) == burstName {
			recorded++
		}
	}
	for _, l := range of[*event.Lost](tr, 0) {
		if event.Probe(l.Probe) == event.ProbeOpen && l.Time > told.From && l.Time < told.To {
			lost += l.Count
		}
	}
	if all, marked := tr.lost(event.ProbeOpen, event.LostFull), markedLosses(tr, event.ProbeOpen); all != marked {
		t.Errorf("the trailer counts %d lost opens, the marks in the stream %d", all, marked)
	}
	return recorded, lost, told.Others
}

// markedLosses adds up the marks that stand where events of a probe were lost.
func markedLosses(tr *trace, probe event.Probe) (n uint64) {
	for _, l := range of[*event.Lost](tr, 0) {
		if event.Probe(l.Probe) == probe {
			n += l.Count
		}
	}
	return n
}

// TestLostSwitchesAreCounted overruns the rings of switches and wakings while the recorder is stopped.
// What was recorded and what was lost make up what perf counts.
func TestLostSwitchesAreCounted(t *testing.T) {
	s := startRecorder(t, record.Options{})
	perf := perfStat(t, func() {
		s.signal(t, unix.SIGSTOP)
		run(t, exec.Command("perf", "bench", "sched", "pipe", "-l", "150000"))
		s.signal(t, unix.SIGCONT)
		run(t, exec.Command("perf", "bench", "sched", "pipe", "-l", "10000")) // brings the marks
	})
	tr := s.stop(t)
	lost := tr.lost(event.ProbeSched, event.LostFull) + tr.lost(event.ProbeSched, event.LostNested)
	if marked := markedLosses(tr, event.ProbeSched); lost != marked {
		t.Errorf("the trailer counts %d lost sched events, the marks in the stream %d", lost, marked)
	}
	tr.checkLostCounted(t, perf)
}

// checkLostCounted tests that many sched events were lost, and that with those recorded they are as many as perf counted.
func (tr *trace) checkLostCounted(t *testing.T, perf perfCount) {
	t.Helper()
	least, most := tr.bounds(t, perf.wakings)
	t.Logf("%d switches and %d wakings recorded, %d of both lost", least.switches, least.wakings, least.lost)
	if least.lost < 10000 {
		t.Errorf("%d sched events lost: the load doesn't test anything", least.lost)
	}
	checkCount(t, "sched events recorded or lost", least.switches+least.wakings+least.lost,
		most.switches+most.wakings+most.lost, perf.switches.n+perf.wakings.n)
}

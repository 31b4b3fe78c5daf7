//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const (
	pressedName = "/no/such/file/under/pressure"
	stallTime   = 5 * time.Second
)

// A disk is a file system of its own, which can be made to block whoever writes to it.
type disk struct{ mount string }

func newDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	script := fmt.Sprintf("truncate -s 2G %s && mkfs.ext4 -q %s && mkdir %s && mount -o loop %s %s", image, image, mount, image, mount)
	if r := run(t, exec.Command("sh", "-c", script)); r.status != 0 {
		t.Skipf("no disk can be mounted here: %s", r.stderr)
	}
	d := &disk{mount}
	t.Cleanup(func() {
		_ = d.control(fithaw) // if the test didn't come to it
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return d
}

const (
	fifreeze = 0xc0045877 // linux/fs.h
	fithaw   = 0xc0045878
)

func (d *disk) control(request uint) error {
	fd, err := unix.Open(d.mount, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.IoctlSetInt(fd, request, 0)
}

// A pressure is what was opened in a stretch of time, on all CPUs.
type pressure struct {
	Opens uint64
	CPU   time.Duration // that it took
}

func (p pressure) minus(q pressure) pressure { return pressure{p.Opens - q.Opens, p.CPU - q.CPU} }

func (p pressure) each() time.Duration { return p.CPU / time.Duration(p.Opens) }

// A pressTold is what the presser did.
type pressTold struct {
	PID                  int
	From, To             uint64
	Before, Stalled, All pressure
	Others               uint64 // files that the rest of the machine opened
}

// presser opens a missing file as fast as all CPUs can, while the disk works, is stalled, and works again.
// A missing file has no path: each open is one event.
var presser = newLoad("presser", func(args []string) (told pressTold) {
	d := disk{args[0]}
	opens := countOpens()
	before := opens.read()
	time.Sleep(roundTime) // what was lost before is marked
	told = pressTold{PID: unix.Getpid(), From: system.BootTime()}
	now, end := startPressing(runtime.NumCPU())
	time.Sleep(time.Second)
	told.Before = now()
	must(d.control(fifreeze))
	frozen := now()
	time.Sleep(stallTime)
	told.Stalled = now().minus(frozen)
	must(d.control(fithaw))
	time.Sleep(time.Second)
	end()
	told.All = now()
	time.Sleep(roundTime) // so is what was lost now
	told.To = system.BootTime()
	told.Others = opens.read() - before - told.All.Opens
	return told
})

// startPressing returns what tells how much was pressed so far, and what ends it.
func startPressing(threads int) (now func() pressure, end func()) {
	counts := make([]struct {
		opens, ns atomic.Uint64
		_         [48]byte // a cache line for each
	}, threads)
	var stop atomic.Bool
	var group sync.WaitGroup
	for i := range counts {
		group.Go(func() {
			runtime.LockOSThread()
			name := must1(unix.BytePtrFromString(pressedName))
			const atCWD = ^uintptr(100 - 1)
			for !stop.Load() {
				for range 1000 {
					_, _, _ = unix.RawSyscall6(unix.SYS_OPENAT, atCWD, uintptr(unsafe.Pointer(name)), unix.O_RDONLY, 0, 0, 0)
				}
				var cpu unix.Timespec
				must(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &cpu))
				counts[i].opens.Add(1000)
				counts[i].ns.Store(uint64(cpu.Nano()))
			}
		})
	}
	now = func() (p pressure) {
		for i := range counts {
			p.Opens += counts[i].opens.Load()
			p.CPU += time.Duration(counts[i].ns.Load())
		}
		return p
	}
	return now, func() { stop.Store(true); group.Wait() }
}

// TestStalledDisk makes more events than can be written, while the recorder's disk blocks it for 5 s: all
// are recorded or counted as lost, the recorder doesn't grow, and who makes them doesn't wait.
func TestStalledDisk(t *testing.T) {
	mountTracefs(t)
	d := newDisk(t)
	s := startRecorder(t, record.Options{Output: filepath.Join(d.mount, "t.bst")})
	before := residentAtMost(t, s.cmd.Process.Pid)
	told := presser.told(t, run(t, presser.command(d.mount)))
	grown := residentAtMost(t, s.cmd.Process.Pid) - before
	s.signal(t, unix.SIGINT)
	if r := s.wait(); r.status != 0 {
		t.Fatalf("the recorder ended with status %d after SIGINT:\n%s", r.status, r.stderr)
	}
	recorded, lost := countPressed(t, s.output, told)
	t.Logf("%d opens, %.0f per second while stalled: %d recorded, %d lost; %d by others. Each took %v of CPU time before and %v while stalled; the recorder grew by %d KiB",
		told.All.Opens, float64(told.Stalled.Opens)/stallTime.Seconds(), recorded, lost, told.Others, told.Before.each(), told.Stalled.each(), grown>>10)
	// An open by another process is a path and an open, of which each can be lost.
	if recorded+lost < told.All.Opens || recorded+lost > told.All.Opens+2*told.Others {
		t.Errorf("%d opens recorded and %d lost, of %d and %d by others", recorded, lost, told.All.Opens, told.Others)
	}
	if recorded == 0 || lost == 0 {
		t.Errorf("%d opens recorded and %d lost: the load doesn't test anything", recorded, lost)
	}
	// Both mappings of the ring buffer, the rings of switches, and what the collector of garbage lets live.
	if bound := uint64(2*record.DefaultBufferBytes + 32<<20); grown > bound {
		t.Errorf("the recorder grew by %d MiB while its disk was stalled, more than %d", grown>>20, bound>>20)
	}
	if told.Stalled.each() > told.Before.each()*3/2 {
		t.Errorf("an open took %v of CPU time while the disk was stalled, %v before", told.Stalled.each(), told.Before.each())
	}
}

// residentAtMost is the most memory that a process has had so far.
func residentAtMost(t *testing.T, pid int) uint64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
	var kib uint64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("/proc/%d/status: %v", pid, err)
	}
	return kib << 10
}

// countPressed counts the presser's opens in a trace that is too large to be kept in memory, and the losses
// that are marked while it ran.
func countPressed(t *testing.T, file string, told pressTold) (recorded, lost uint64) {
	t.Helper()
	f, err := tracefile.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	marked, all := uint64(0), uint64(0)
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *event.Open:
			if int(e.PID) == told.PID && string(e.TailBytes()) == pressedName {
				recorded++
			}
		case *event.Lost:
			if event.Probe(e.Probe) != event.ProbeOpen {
				break
			}
			marked += e.Count
			if e.Time > told.From && e.Time < told.To {
				lost += e.Count
			}
		}
	}
	if f.Trailer() == nil || len(f.Problems()) > 0 {
		t.Fatalf("the trace is not whole: trailer %v, problems %v", f.Trailer(), f.Problems())
	}
	for _, l := range f.Trailer().Lost {
		if l.Probe == event.ProbeOpen.String() {
			all += l.Count
		}
	}
	if all != marked {
		t.Errorf("the trailer counts %d lost opens, the marks in the stream %d", all, marked)
	}
	return recorded, lost
}

// TestStalledDiskLosesCountedSwitches: what perf counts while the disk is stalled was recorded or counted
// as lost.
func TestStalledDiskLosesCountedSwitches(t *testing.T) {
	d := newDisk(t)
	s := startRecorder(t, record.Options{Output: filepath.Join(d.mount, "t.bst")})
	perf := perfStat(t, func() {
		must(d.control(fifreeze))
		run(t, exec.Command("perf", "bench", "sched", "pipe", "-l", "300000"))
		must(d.control(fithaw))
		run(t, exec.Command("perf", "bench", "sched", "pipe", "-l", "10000")) // brings the marks
	})
	tr := s.stop(t)
	tr.checkLostCounted(t, perf)
}

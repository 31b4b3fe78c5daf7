//go:build linux && kerneltest

package record_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// faulted is what rusage says of a process.
type faulted struct {
	PID          int
	Minor, Major int64
}

// coldPython starts Python twice. The first time nothing of it is in memory.
var coldPython = newLoad("cold-python", func([]string) (told []faulted) {
	python := must1(filepath.EvalSymlinks("/usr/bin/python3"))
	libraries := must1(filepath.Glob("/lib/*-linux-gnu/lib[cemsz]*.so*")) // crypto, expat, mpdec, ssl, sqlite3, z
	evict(append(libraries, python, "/usr/lib/"+filepath.Base(python)+"/lib-dynload"))
	for range 2 {
		p := exec.Command(python, "-c", "import asyncio, http.server, email.message, sqlite3, decimal")
		must(p.Run())
		usage := p.ProcessState.SysUsage().(*syscall.Rusage)
		told = append(told, faulted{p.Process.Pid, usage.Minflt, usage.Majflt})
	}
	return told
})

// evict drops files from the page cache, as far as their pages are clean and nobody has them mapped.
func evict(paths []string) {
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if f, err := os.Open(file); err == nil {
					_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
					f.Close()
				}
			}
			return nil
		})
	}
	must(os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0))
}

// TestFaultsAreRusages starts Python with nothing of it in memory, and once more.
func TestFaultsAreRusages(t *testing.T) {
	tr, told := coldPython.record(t, record.Options{})
	if n := tr.lost(event.ProbeFault, event.LostFull) + tr.lost(event.ProbeProcess, event.LostFull); n > 0 {
		t.Fatalf("%d events were lost", n)
	}
	tl := tr.timeline(t)
	for i, want := range told {
		p := process(t, tl, want.PID)
		if p.Counters == nil {
			t.Fatalf("process %d has no counters", want.PID)
		}
		seen := of[*event.Fault](tr, want.PID)
		t.Logf("start %d of Python: %d minor and %d major faults (rusage: %d and %d); %d major faults seen one by one: %d by others on its behalf",
			i+1, p.Counters.MinorFaults, p.Counters.MajorFaults, want.Minor, want.Major, len(seen), want.Major-int64(len(seen)))
		if int64(p.Counters.MinorFaults) != want.Minor || int64(p.Counters.MajorFaults) != want.Major {
			t.Errorf("process %d: %d minor and %d major faults, rusage says %d and %d",
				want.PID, p.Counters.MinorFaults, p.Counters.MajorFaults, want.Minor, want.Major)
		}
		if int64(len(seen)) > want.Major || p.FaultEvents != uint64(len(seen)) {
			t.Errorf("process %d: %d events of major faults (%d in the model), rusage counts %d", want.PID, len(seen), p.FaultEvents, want.Major)
		}
		if i == 0 && (want.Major < 5 || int64(len(seen)) < want.Major*8/10) {
			t.Errorf("a cold start of Python with %d major faults, of which %d were seen", want.Major, len(seen))
		}
		checkFaults(t, seen)
	}
}

// checkFaults checks that a fault tells where it was: an address, and the code and stack of the program
// even when the kernel touched its memory.
func checkFaults(t *testing.T, faults []*event.Fault) {
	t.Helper()
	for _, f := range faults {
		if f.Addr == 0 || f.IP == 0 || f.UserSP == 0 || f.UserSP>>63 != 0 {
			t.Errorf("a fault at address %#x, instruction %#x, with user stack pointer %#x", f.Addr, f.IP, f.UserSP)
		}
	}
}

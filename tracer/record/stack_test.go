//go:build linux && kerneltest

package record_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/timeline"
)

const (
	stackDepths = 12
	stackWork   = 300 * time.Millisecond // of CPU time, in each of two ways
)

// A depth is where the load was on its stack when it opened a file and touched a page.
type depth struct {
	Local  uint64 // address of a variable of the function
	Page   uint64 // address of the page
	Faults int64  // how many major faults that was, as rusage has it: another may have brought the page
}

// A stackTold is what the load did at each depth, and then at the deepest for some time.
type stackTold struct {
	Depths     []depth
	Text       [2]uint64 // where its own code is
	User, Kern span      // when it was busy itself, and in the kernel
}

type span struct{ From, To uint64 }

func (s span) has(at uint64) bool { return s.From < at && at < s.To }

// stacked goes down its stack, as nested imports do.
var stacked = newLoad("stacked", func(args []string) (told stackTold) {
	told.Text = ownCode()
	pages := coldPages(args[0], stackDepths)
	grow(100)
	descend(stackDepths, pages, &told)
	return told
})

// ownCode returns where the code of this program is mapped.
func ownCode() (text [2]uint64) {
	for line := range strings.Lines(string(must1(os.ReadFile("/proc/self/maps")))) {
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &text[0], &text[1], &mode); err == nil && mode == "r-xp" && strings.Contains(line, self()) {
			return text
		}
	}
	panic("this program's code is in no mapping")
}

// coldPages maps a file of which nothing is in memory, far enough apart that one read doesn't bring two.
func coldPages(file string, n int) (pages [][]byte) {
	const distance = 1 << 20
	f := must1(os.Create(file))
	must1(f.Write(bytes.Repeat([]byte{1}, n*distance)))
	must(f.Sync())
	all := must1(unix.Mmap(int(f.Fd()), 0, n*distance, unix.PROT_READ, unix.MAP_PRIVATE))
	must(unix.Madvise(all, unix.MADV_RANDOM)) // no reading ahead
	for i := range n {
		pages = append(pages, all[i*distance:])
		for resident(pages[i]) {
			must(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
		}
	}
	return pages
}

// resident tells whether a page of a mapped file is in memory.
func resident(page []byte) bool {
	var answer [1]byte
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&page[0])), uintptr(os.Getpagesize()), uintptr(unsafe.Pointer(&answer[0])))
	if errno != 0 {
		panic(errno)
	}
	return answer[0]&1 != 0
}

// grow makes the goroutine's stack large, so that it isn't moved later.
//
//go:noinline
func grow(n int) byte {
	var frame [4096]byte
	if n > 0 {
		frame[n] = grow(n - 1)
	}
	return frame[n]
}

// majorFaults returns how many this thread had.
func majorFaults() int64 {
	var usage unix.Rusage
	must(unix.Getrusage(unix.RUSAGE_THREAD, &usage))
	return usage.Majflt
}

var sum byte // so that reading isn't optimised away

//go:noinline
func descend(n int, pages [][]byte, told *stackTold) {
	var local [64]byte
	if n == 0 {
		told.User.From = system.BootTime()
		compute(stackWork)
		told.User.To, told.Kern.From = system.BootTime(), system.BootTime()
		workInKernel(stackWork)
		told.Kern.To = system.BootTime()
		return
	}
	name := must1(unix.BytePtrFromString(fmt.Sprintf("/no/such/depth/%d", n)))
	cwd := unix.AT_FDCWD
	unix.Syscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(unsafe.Pointer(name)), unix.O_RDONLY, 0, 0, 0)
	runtime.KeepAlive(name)
	before := majorFaults()
	sum += pages[0][0]
	told.Depths = append(told.Depths, depth{
		Local: uint64(uintptr(unsafe.Pointer(&local))), Page: uint64(uintptr(unsafe.Pointer(&pages[0][0]))),
		Faults: majorFaults() - before,
	})
	descend(n-1, pages[1:], told)
	sum += local[n]
}

// cpuTime returns the CPU time of this thread.
func cpuTime() time.Duration {
	var now unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

// compute stays in this program's code, but for a look at the clock now and then.
//
//go:noinline
func compute(work time.Duration) {
	for until := cpuTime() + work; cpuTime() < until; {
		for range 1_000_000 {
			sum += sum<<3 ^ 1
		}
	}
}

// workInKernel makes one long system call after the other.
func workInKernel(work time.Duration) {
	b := make([]byte, 4<<20)
	zeros := must1(unix.Open("/dev/zero", unix.O_RDONLY, 0))
	for until := cpuTime() + work; cpuTime() < until; {
		must1(unix.Read(zeros, b))
	}
}

// TestStackPointers compares the user stack pointers at opens and major faults with where the functions
// were that made them: one level deeper is as far in both. The levels of imports are found from them.
func TestStackPointers(t *testing.T) {
	for _, noBTF := range []bool{false, true} {
		t.Run(fmt.Sprintf("no BTF %v", noBTF), func(t *testing.T) {
			tr, told := stacked.record(t, record.Options{NoBTF: noBTF}, t.TempDir()+"/pages")
			pid := int(tr.Header().CommandPID)
			var opens, faults []uint64
			for _, o := range of[*event.Open](tr, pid) {
				if bytes.HasPrefix(o.TailBytes(), []byte("/no/such/depth/")) {
					opens = append(opens, o.UserSP)
				}
			}
			pages := map[uint64]bool{}
			var faulted []depth
			for _, d := range told.Depths {
				pages[d.Page] = true
				if d.Faults > 0 {
					faulted = append(faulted, d)
				}
			}
			for _, f := range of[*event.Fault](tr, pid) {
				if pages[f.Addr] {
					faults = append(faults, f.UserSP)
					if f.IP < told.Text[0] || f.IP >= told.Text[1] {
						t.Errorf("a fault at instruction %#x, which is none of the program's: %#x", f.IP, told.Text)
					}
				}
			}
			checkLevels(t, "opens", opens, told.Depths)
			checkLevels(t, "major faults", faults, faulted)
			checkSamples(t, tr, told, noBTF)
		})
	}
}

// checkLevels checks that stack pointers move like the variables of the functions.
func checkLevels(t *testing.T, what string, got []uint64, want []depth) {
	t.Helper()
	if len(got) != len(want) || len(want) < stackDepths/2 {
		t.Errorf("%d %s on the way down, want %d", len(got), what, len(want))
		return
	}
	for i := range got {
		if below := want[i].Local - got[i]; below > 1<<12 || below != want[0].Local-got[0] {
			t.Errorf("%s, level %d: stack pointer %#x, %#x below the function's variable; %#x at level 0",
				what, i, got[i], below, want[0].Local-got[0])
		}
	}
	t.Logf("%s: the stack pointer moved by %#x at each of %d levels, as the functions did", what, got[0]-got[1], len(got))
}

// checkSamples checks how often the busy thread was sampled, and where.
func checkSamples(t *testing.T, tr *trace, told stackTold, noBTF bool) {
	t.Helper()
	local := told.Depths[len(told.Depths)-1].Local
	code := func(ip uint64) bool { return told.Text[0] <= ip && ip < told.Text[1] }
	var all, user, kernel, stack float64
	for _, s := range of[*event.Sample](tr, int(tr.Header().CommandPID)) {
		if s.TID != s.PID {
			continue
		}
		all++
		inKernel := s.Flags&event.SampleKernel != 0
		if noUser := s.Flags&event.SampleNoUser != 0; noUser != (noBTF && inKernel) {
			t.Errorf("a sample in the kernel: %v, without user registers: %v", inKernel, noUser)
		}
		switch {
		case told.User.has(s.Time) && !inKernel && code(s.IP) && s.IP == s.UserIP:
			user++
		case told.Kern.has(s.Time) && inKernel && s.IP>>63 == 1 && (noBTF || code(s.UserIP)):
			kernel++
		}
		if local-s.UserSP < 1<<13 {
			stack++
		}
	}
	p := process(t, tr.timeline(t), int(tr.Header().CommandPID))
	first := p.Threads[slices.IndexFunc(p.Threads, func(th *timeline.Thread) bool { return th.TID == p.PID })]
	hz := float64(tr.Header().SampleHz)
	want := float64(first.Times[timeline.Running]) / 1e9 * hz
	t.Logf("%.0f samples, %.1f are due for %s of CPU time; %.0f in its own code, %.0f in the kernel; %.0f on its stack",
		all, want, ms(first.Times[timeline.Running]), user, kernel, stack)
	if all < 0.8*want || all > 1.2*want {
		t.Errorf("%.0f samples of the busy thread, want %.0f", all, want)
	}
	if user < 0.3*all || kernel < 0.3*all {
		t.Errorf("%.0f samples in its own code and %.0f in the kernel, of %.0f; want nearly half in each", user, kernel, all)
	}
	if expected := user + kernel; !noBTF && stack < 0.9*expected || noBTF && stack < 0.9*user {
		t.Errorf("%.0f samples have a stack pointer near the function's variables; %.0f in its code, %.0f in the kernel", stack, user, kernel)
	}
}

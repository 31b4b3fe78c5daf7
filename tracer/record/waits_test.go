//go:build linux && kerneltest

package record_test

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/timeline"
)

const (
	directReads = 400
	naps        = 30
	napTime     = 10_000_000
	writes      = 20
)

// A waited is how long the load was in the system calls in which it waited.
type waited struct{ Reading, Napping, Syncing uint64 }

// waiter waits for a disk and for a clock.
var waiter = newLoad("waiter", func(args []string) (told waited) {
	file := must1(os.Create(args[0]))
	block := aligned(64 << 10)
	for range writes {
		must1(file.Write(block))
		told.Syncing += timed(func() { must(file.Sync()) })
	}
	direct := must1(unix.Open(args[0], unix.O_RDONLY|unix.O_DIRECT, 0))
	for i := range directReads {
		told.Reading += timed(func() { must1(unix.Pread(direct, block, int64(i%writes*len(block)))) })
	}
	for range naps {
		told.Napping += timed(func() { unix.Nanosleep(&unix.Timespec{Nsec: napTime}, nil) })
	}
	return told
})

func timed(f func()) uint64 {
	before := system.BootTime()
	f()
	return system.BootTime() - before
}

// aligned returns memory that a disk can write to.
func aligned(size int) []byte {
	const alignment = 4096
	b := make([]byte, size+alignment)
	skip := alignment - int(uintptr(unsafe.Pointer(&b[0]))%alignment)
	return b[skip : skip+size]
}

// TestWaits compares waits with how long the calls took in which they happened: the time in such a call is
// that of the wait, and a little of running and being runnable.
func TestWaits(t *testing.T) {
	dir, err := os.MkdirTemp(".", "waits-") // not in /tmp, which can be in memory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tr, told := waiter.record(t, record.Options{}, dir+"/file")
	p := process(t, tr.timeline(t), int(tr.Header().CommandPID))
	first := p.Threads[0]
	var reading, napping, syncing timeline.Sleep
	for _, s := range first.Sleeps {
		switch {
		case s.Syscall == unix.SYS_PREAD64 && s.State == timeline.IOWait:
			reading = s
		case s.Syscall == unix.SYS_NANOSLEEP && s.State == timeline.Sleeping:
			napping = s
		case s.Syscall == unix.SYS_FSYNC:
			syncing.Time += s.Time
			syncing.Count += s.Count
		}
	}
	busy := first.Times[timeline.Running] + first.Times[timeline.Runnable]
	for _, w := range []struct {
		what   string
		got    timeline.Sleep
		called uint64 // time in the calls
		count  uint64
	}{
		{"reading from the disk", reading, told.Reading, directReads},
		{"napping", napping, told.Napping, naps},
		{"waiting for the disk to have it", syncing, told.Syncing, 0},
	} {
		t.Logf("%s: waited %s in %s of calls, %d times", w.what, ms(w.got.Time), ms(w.called), w.got.Count)
		if w.got.Time > w.called || w.got.Time+busy < w.called || w.got.Time == 0 {
			t.Errorf("%s: waited %s in %s of calls; %s were running and runnable", w.what, ms(w.got.Time), ms(w.called), ms(busy))
		}
		if w.got.Count < w.count*8/10 || w.count > 0 && w.got.Count > w.count*12/10 {
			t.Errorf("%s: %d waits, %d calls", w.what, w.got.Count, w.count)
		}
	}
}

//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// limited makes a cgroup whose memory has a limit. Only version 1 is served: that is what the machines of
// these tests have, and version 2 is tested in guests.
func limited(t *testing.T, bytes int) (dir string) {
	t.Helper()
	dir = filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("bootscope-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no cgroup with a memory limit can be made: %v", err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if err := os.WriteFile(dir+"/memory.limit_in_bytes", []byte(strconv.Itoa(bytes)), 0o644); err != nil {
		t.Skipf("no memory limit can be set: %v", err)
	}
	return dir
}

// onDisk writes a file of zeros and takes it out of memory again. Its file system must be on a disk.
func onDisk(t *testing.T, bytes int) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "data")
	var s unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(name), &s); err != nil || s.Type == unix.TMPFS_MAGIC || s.Type == unix.OVERLAYFS_SUPER_MAGIC {
		t.Skipf("%s is on no disk (file system %#x, %v): set TMPDIR", name, s.Type, err)
	}
	f := must1(os.Create(name))
	must1(f.Write(make([]byte, bytes)))
	must(f.Sync())
	must(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	must(f.Close())
	return name
}

// keyed reads a number from lines of names and numbers.
func keyed(file, name string) uint64 {
	for line := range strings.Lines(string(must1(os.ReadFile(file)))) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			return must1(strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(value, ":")), 10, 64))
		}
	}
	return 0
}

// rereader reads a file several times, in a cgroup, and tells how many pages the kernel says came back.
var rereader = newLoad("rereader", func(args []string) uint64 {
	file, cgroup, times := args[0], args[1], must1(strconv.Atoi(args[2]))
	must(os.WriteFile(cgroup+"/cgroup.procs", []byte("0"), 0))
	before := keyed(cgroup+"/memory.stat", "workingset_refault_file ")
	buffer := make([]byte, 64<<10)
	for range times {
		f := must1(os.Open(file))
		for n := 1; n > 0; {
			n, _ = f.Read(buffer)
		}
		must(f.Close())
	}
	return keyed(cgroup+"/memory.stat", "workingset_refault_file ") - before
})

// within fails unless two numbers differ by 5 % at most.
func within(t *testing.T, what string, got, want uint64) {
	t.Helper()
	t.Logf("%s: %d, %d expected (%+.2f %%)", what, got, want, 100*(float64(got)/float64(want)-1))
	if float64(got) < 0.95*float64(want) || float64(got) > 1.05*float64(want) {
		t.Errorf("%s: %d, expected %d within 5 %%", what, got, want)
	}
}

// TestRereadsAreTheKernelsRefaults reads 60 MB three times under a limit of 30 MB.
func TestRereadsAreTheKernelsRefaults(t *testing.T) {
	cgroup, file := limited(t, 30<<20), onDisk(t, 60<<20)
	tr, refaults := rereader.record(t, record.Options{}, file, cgroup, "3")
	tr.checkNothingLost(t)
	tl := tr.timeline(t)
	p := process(t, tl, int(tr.Header().CommandPID))
	page := uint64(unix.Getpagesize())
	within(t, "bytes read again", p.Reads.Again, refaults*page)
	// A few pages may stay from one time to the next: how many is the kernel's business, and in its count as well.
	within(t, "bytes read again, of 60 MiB three times", p.Reads.Again, 2*60<<20)
	if p.Counters == nil || !p.Counters.StorageKnown {
		t.Fatalf("the block layer's count is not known: %+v", p.Counters)
	}
	within(t, "bytes read", p.Reads.Bytes, p.Counters.StorageRead)
	if p.Reads.Dropped != 0 {
		t.Errorf("%d bytes read again after they had been dropped on demand: nobody did", p.Reads.Dropped)
	}
	checkGroup(t, p, cgroup, refaults)
}

// checkGroup checks what is known of the limit that held a process.
func checkGroup(t *testing.T, p *timeline.Process, cgroup string, refaults uint64) {
	t.Helper()
	g := p.Memory
	if g == nil || g.Path != strings.TrimPrefix(cgroup, "/sys/fs/cgroup/memory") {
		t.Fatalf("the process is held by %+v, want %s", g, cgroup)
	}
	limit, high, limited := g.Limit()
	if limit != 30<<20 || high || !limited || len(g.Readings) < 2 {
		t.Errorf("the limit is %d (%v, %v), read %d times", limit, high, limited, len(g.Readings))
	}
	if d := g.Growth(); d.FileRefaults < refaults || d.MaxEvents == 0 {
		t.Errorf("the cgroup's counters grew by %+v, the load saw %d refaults", d, refaults)
	}
	if g.Count < 10 || g.Freed < p.Reads.Again/2 || g.Time == 0 || g.Time > p.End-p.Start {
		t.Errorf("reclaim: %+v in a life of %d ns", g.Reclaims, p.End-p.Start)
	}
}

// dropper reads a file and has it dropped on demand, over and over.
var dropper = newLoad("dropper", func(args []string) int {
	for range 4 {
		must1(os.ReadFile(args[0]))
		if args[1] == "fadvise" {
			f := must1(os.Open(args[0]))
			must(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
			must(f.Close())
		} else {
			must(os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0))
		}
	}
	return os.Getpid()
})

// TestDropsOnDemandAreNoRereads: what was dropped on demand and is read again is told apart from what reclaim
// had evicted.
func TestDropsOnDemandAreNoRereads(t *testing.T) {
	for _, how := range []string{"fadvise", "drop_caches"} {
		t.Run(how, func(t *testing.T) {
			file := onDisk(t, 20<<20)
			tr, pid := dropper.record(t, record.Options{}, file, how)
			p := process(t, tr.timeline(t), pid)
			// A drop of caches leaves alone what somebody uses at that moment.
			if p.Reads.Bytes <= 20<<20 {
				t.Fatal("nothing was dropped")
			}
			within(t, "bytes read again after a drop", p.Reads.Dropped, p.Reads.Bytes-(20<<20))
			if p.Reads.Again > 1<<20 {
				t.Errorf("%d bytes are said to have been evicted by reclaim", p.Reads.Again)
			}
		})
	}
}

// TestWritesAreNoReads: pages that come into memory to be written are not read, also when a program copies.
func TestWritesAreNoReads(t *testing.T) {
	dir := filepath.Dir(onDisk(t, 1))
	tr, r := runWhole(t, record.Options{Command: []string{"sh", "-c",
		"cd " + dir + "; head -c 20000000 /dev/zero >a; cp --reflink=never a b; cat a >c; echo $$"}})
	pids := map[uint32]bool{uint32(must1(strconv.Atoi(strings.TrimSpace(r.stdout)))): true}
	sum := uint64(0)
	for _, p := range tr.timeline(t).Processes {
		if p.Command || pids[p.PID] {
			sum += p.Reads.Bytes
		}
	}
	if written := uint64(3 * 20000000); sum > written/10 {
		t.Errorf("%d bytes are said to be read by programs that wrote %d and had what they read in memory", sum, written)
	}
}

// stored is what /proc says of a process, read by itself at its end.
type stored struct {
	PID  int
	Read uint64
}

const tellsStored = `import asyncio, http.server, email.message, sqlite3, decimal, os
text = dict(line.split(": ") for line in open("/proc/self/io"))
print('{"PID": %d, "Read": %d}' % (os.getpid(), int(text["read_bytes"])))`

// coldStart starts Python with nothing of it in memory.
var coldStart = newLoad("cold-start", func([]string) stored {
	python := must1(filepath.EvalSymlinks("/usr/bin/python3"))
	libraries := must1(filepath.Glob("/lib/*-linux-gnu/lib[cemsz]*.so*"))
	evict(append(libraries, python, "/usr/lib/"+filepath.Base(python)))
	var told stored
	out := must1(exec.Command(python, "-c", tellsStored).Output())
	must1(fmt.Sscanf(string(out), `{"PID": %d, "Read": %d}`, &told.PID, &told.Read))
	return told
})

// TestReadsAgreeWithTheBlockLayer starts Python cold and compares what it read with what the block layer
// counted, as /proc/PID/io and as the trace tell it.
func TestReadsAgreeWithTheBlockLayer(t *testing.T) {
	onDisk(t, 1)
	tr, told := coldStart.record(t, record.Options{})
	if n := tr.lost(event.ProbeRead, event.LostFull) + tr.lost(event.ProbeRead, event.LostNested); n > 0 {
		t.Fatalf("%d events were lost", n)
	}
	p := process(t, tr.timeline(t), told.PID)
	if told.Read < 5<<20 {
		t.Fatalf("Python read %d bytes only: it was not cold", told.Read)
	}
	within(t, "bytes read, against /proc/PID/io", p.Reads.Bytes, told.Read)
	if p.Counters == nil || !p.Counters.StorageKnown {
		t.Fatalf("the block layer's count is not known: %+v", p.Counters)
	}
	within(t, "the block layer's count in the trace, against /proc/PID/io", p.Counters.StorageRead, told.Read)
	if p.Reads.Faulted == 0 || p.FaultTime == 0 {
		t.Errorf("%d bytes by faults, which took %d ns", p.Reads.Faulted, p.FaultTime)
	}
}

// compressed mounts an empty btrfs that compresses.
func compressed(t *testing.T) (dir string) {
	t.Helper()
	image := onDisk(t, 1)
	must(os.Truncate(image, 256<<20))
	dir = t.TempDir()
	if out, err := exec.Command("mkfs.btrfs", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("no btrfs can be made: %v %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop,compress=zstd", image, dir).CombinedOutput(); err != nil {
		t.Skipf("no btrfs can be mounted: %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	return dir
}

// TestCompressedFilesHaveTwoSizes reads 20 MB that compress well: the trace tells both what came into memory
// and what storage delivered.
func TestCompressedFilesHaveTwoSizes(t *testing.T) {
	dir := compressed(t)
	file := filepath.Join(dir, "text")
	text := strings.Repeat("what compresses well, such as this line, which is there many times\n", 300000)
	must(os.WriteFile(file, []byte(text), 0o644))
	must(exec.Command("sync", "-f", file).Run())
	must(os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0))
	tr, r := runWhole(t, record.Options{Command: []string{"sh", "-c", "echo $$; exec cat " + file + " >/dev/null"}})
	p := process(t, tr.timeline(t), must1(strconv.Atoi(strings.TrimSpace(r.stdout))))
	read := uint64(0)
	for _, f := range tr.timeline(t).Files {
		if f.Path == file {
			read += f.Reads.Bytes
		}
	}
	within(t, "bytes of the file that came into memory", read, uint64(len(text)))
	if p.Counters == nil || !p.Counters.StorageKnown || p.Counters.StorageRead == 0 || p.Counters.StorageRead > read/4 {
		t.Errorf("storage delivered %+v for %d bytes", p.Counters, read)
	}
	t.Logf("%d bytes came into memory, storage delivered %d", read, p.Counters.StorageRead)
}

// forgetter evicts one page in each of many blocks of 64.
var forgetter = newLoad("forgetter", func(args []string) int {
	n := must1(strconv.Atoi(args[1]))
	f := must1(os.Create(args[0]))
	const block = 64 * 4096
	must(f.Truncate(int64(n) * block))
	must(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM))
	for i := range n {
		must1(f.ReadAt(make([]byte, 1), int64(i)*block))
	}
	must(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	return n
})

// TestForgottenEvictionsAreSaid: the table of what was evicted has a bound, and what is beyond counts as lost.
func TestForgottenEvictionsAreSaid(t *testing.T) {
	for n, forgotten := range map[int]bool{8000: false, 20000: true} {
		tr, _ := forgetter.record(t, record.Options{}, filepath.Join(t.TempDir(), "sparse"), strconv.Itoa(n))
		if lost := tr.lost(event.ProbeRead, event.LostFull); lost > 0 != forgotten {
			t.Errorf("%d blocks were evicted, and %d said to be forgotten", n, lost)
		}
	}
}

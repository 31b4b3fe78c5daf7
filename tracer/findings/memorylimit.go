package findings

import (
	"math/bits"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// A limit is too low when what is needed doesn't fit. The thresholds:
const (
	// Whoever is near a limit loses pages that are not needed any more, and reads few of them again. When
	// a quarter of all that fits has to be read again, they were needed.
	rereadToLimit = 0.25
	// The limit must have freed at least half of what was read again: else it was evicted because the machine
	// ran short of memory, and no limit is to blame.
	freedToReread = 0.5
	// Reclaim that must look at so many pages to free one, or that fails half of the time, finds nothing
	// that is not needed.
	scannedToFreed = 10
	inVain         = 0.5
	// Below this many attempts that says nothing.
	minReclaims = 20
	// What to try next: the working set and some room, since it is an estimate from below.
	headroom = 1.2
)

// memoryLimit looks for cgroups whose limit is below their working set.
type memoryLimit struct {
	timeline.Discard
	again map[*timeline.Thread]*rereads
}

// rereads is what a thread read again after reclaim had evicted it.
type rereads struct {
	first, last uint64
	files       map[*timeline.File]*fileRereads
}

type fileRereads struct {
	bytes uint64
	pages map[uint64]uint64 // which ones: a bit for each of 64 of 4 KiB
}

func newMemoryLimit() *memoryLimit { return &memoryLimit{again: map[*timeline.Thread]*rereads{}} }

// Read implements timeline.Sink.
func (x *memoryLimit) Read(r *timeline.Read) {
	if r.Thread == nil || r.Again == 0 {
		return
	}
	t := x.again[r.Thread]
	if t == nil {
		t = &rereads{first: r.Start, files: map[*timeline.File]*fileRereads{}}
		x.again[r.Thread] = t
	}
	t.first, t.last = min(t.first, r.Start), max(t.last, r.End)
	f := t.files[r.File]
	if f == nil {
		f = &fileRereads{pages: map[uint64]uint64{}}
		t.files[r.File] = f
	}
	f.bytes += r.Again
	if 2*r.Again >= r.Bytes { // which pages of the run they were is not known
		f.mark(r.Offset>>12, r.Bytes>>12)
	}
}

func (f *fileRereads) mark(page, n uint64) {
	for ; n > 0; page, n = page+1, n-1 {
		f.pages[page>>6] |= 1 << (page & 63)
	}
}

func (f *fileRereads) add(other *fileRereads) {
	f.bytes += other.bytes
	for block, mask := range other.pages {
		f.pages[block] |= mask
	}
}

// size is how many different bytes were read again.
func (f *fileRereads) size() (n uint64) {
	for _, mask := range f.pages {
		n += uint64(bits.OnesCount64(mask))
	}
	return n << 12
}

// Find implements Detector.
func (x *memoryLimit) Find(r *Recording) (found []Finding) {
	for _, g := range r.Memory {
		if _, _, limited := g.Limit(); !limited {
			continue
		}
		c := x.caseOf(r, g)
		if (c.rereads() || c.swaps() || c.vain()) && c.lost >= minCost {
			found = append(found, c.finding())
		}
	}
	return found
}

// limitCase is a limit and what happened under it.
type limitCase struct {
	*timeline.MemoryGroup
	limit    uint64
	high     bool
	growth   event.Memory
	page     uint64
	reads    timeline.Reads
	sum      rereads // of all threads
	storage  uint64  // waited for storage because of what was read again, at most
	faults   uint64
	lost     uint64
	measured bool // lost is the kernel's own measurement
}

func (x *memoryLimit) caseOf(r *Recording, g *timeline.MemoryGroup) *limitCase {
	c := &limitCase{MemoryGroup: g, growth: g.Growth(), page: uint64(max(r.Header.PageSize, 4096))}
	c.limit, c.high, _ = g.Limit()
	c.sum.files = map[*timeline.File]*fileRereads{}
	for _, p := range g.Processes {
		if p.Recorder {
			continue
		}
		c.reads.Bytes += p.Reads.Bytes
		c.reads.Again += p.Reads.Again
		c.faults += p.FaultEvents
		if p.Reads.Bytes > 0 {
			c.storage += uint64(float64(p.Times[timeline.IOWait]) * float64(p.Reads.Again) / float64(p.Reads.Bytes))
		}
		for _, th := range p.Threads {
			c.sum.add(x.again[th])
		}
	}
	c.faults = max(c.faults, c.growth.MajorFaults) // those that the kernel had for a task raise no event
	c.lost = min(c.Reclaims.Time+c.storage, r.Duration())
	if c.growth.Flags&event.MemoryPressure != 0 {
		c.lost, c.measured = min(c.growth.Stalled, r.Duration()), true
	}
	return c
}

func (t *rereads) add(other *rereads) {
	if other == nil {
		return
	}
	if t.first == 0 {
		t.first = other.first
	}
	t.first, t.last = min(t.first, other.first), max(t.last, other.last)
	for file, f := range other.files {
		if t.files[file] == nil {
			t.files[file] = &fileRereads{pages: map[uint64]uint64{}}
		}
		t.files[file].add(f)
	}
}

// rereads: files don't fit.
func (c *limitCase) rereads() bool {
	return float64(c.reads.Again) >= rereadToLimit*float64(c.limit) &&
		float64(c.Freed) >= freedToReread*float64(c.reads.Again)
}

// swaps: what programs allocated doesn't fit, and is swapped in and out.
func (c *limitCase) swaps() bool {
	return float64(c.growth.AnonRefaults*c.page) >= rereadToLimit*float64(c.limit) && c.Count > 0
}

// vain: what programs allocated doesn't fit, and can't be swapped out.
func (c *limitCase) vain() bool {
	if c.Count < minReclaims {
		return false
	}
	g := &c.growth
	return float64(c.InVain) >= inVain*float64(c.Count) ||
		g.Flags&event.MemoryScans != 0 && g.PagesScanned >= scannedToFreed*max(g.PagesReclaimed, 1)
}

// workingSet estimates what is needed at the same time, from below: what programs allocated, and what they
// read again. Where it is no more than the limit, the limit is all that is known of it.
func (c *limitCase) workingSet() (anon, files uint64) {
	for i := range c.Readings {
		anon = max(anon, c.Readings[i].Anon+c.Readings[i].Swap)
	}
	for _, f := range c.sum.files {
		files += f.size()
	}
	return anon, files
}

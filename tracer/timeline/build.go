package timeline

import (
	"fmt"
	"slices"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Build reads all events of a source into a timeline and passes what is not kept to the sinks.
func Build(src tracefile.Source, sinks ...Sink) (*Timeline, error) {
	b := newBuilder(src, sinks)
	for e, err := range src.Events() {
		if err != nil {
			return nil, fmt.Errorf("reading events after %.6f s: %w", float64(b.now)/1e9, err)
		}
		b.add(e)
	}
	b.finish()
	b.tl.Problems = src.Problems() // complete only after the whole source was read
	return b.tl, nil
}

// Growing is the timeline of a recording that still goes on. It can be looked at between two updates; what is
// only known at the end is missing.
type Growing struct {
	*Timeline
	b *builder
}

// Grow begins a timeline of a live source.
func Grow(src tracefile.Source, sinks ...Sink) *Growing {
	b := newBuilder(src, sinks)
	return &Growing{b.tl, b}
}

// Update takes in what has been added to the source.
func (g *Growing) Update() error {
	for e, err := range g.b.src.Events() {
		if err != nil {
			return err
		}
		g.b.add(e)
	}
	return nil
}

// UnitOf names a process's unit, "" for none. At the end it is in Process.Unit.
func (g *Growing) UnitOf(p *Process) string { return UnitOf(g.b.cgroups[p.CgroupID]) }

// builder is a timeline in the making. Its clock, now, never goes back and never leaves the recording.
type builder struct {
	tl    *Timeline
	src   tracefile.Source
	sinks []Sink
	// Those of them that receive what most don't look at.
	intervalSinks []IntervalSink
	wakeSinks     []WakeSink
	now           uint64
	last          uint64 // the latest moment that there can be

	tids     tidTable
	pids     map[uint32]*Process   // the latest of each id
	cpus     []*cpuState           // by number; nil where none was seen
	changes  []tracefile.CPUChange // which CPUs go and come later
	gaps     []uint64              // when sched events were lost
	switched uint64                // the last sched event
	lost     map[Loss]uint64       // by probe and reason, from the events
	forksOK  bool                  // no fork was lost until now

	files   map[uint64]*File
	names   map[fileKey]*File
	inodes  map[inodeKey]*File  // the latest name of each
	mapped  map[inodeKey]string // paths that only mappings told
	cgroups map[uint64]string   // of the unified hierarchy
	others  map[groupKey]string // of the others
	groups  map[groupKey]*MemoryGroup

	units   map[string]*Activation // what systemd said, by name
	undated []undatedLine

	calls    *calls
	pageSize uint64

	interval Interval // reused for the sinks
	open     Open
	read     Read
}

func newBuilder(src tracefile.Source, sinks []Sink) *builder {
	h, t := src.Header(), src.Trailer()
	b := &builder{
		src:     src,
		tl:      &Timeline{Header: h, Trailer: t, Start: h.Start, Can: abilitiesOf(h, t), Activity: newActivity()},
		sinks:   sinks,
		now:     h.Start,
		last:    ^uint64(0),
		pids:    map[uint32]*Process{},
		lost:    map[Loss]uint64{},
		files:   map[uint64]*File{},
		names:   map[fileKey]*File{},
		inodes:  map[inodeKey]*File{},
		mapped:  map[inodeKey]string{},
		cgroups: map[uint64]string{},
		others:  map[groupKey]string{},
		groups:  map[groupKey]*MemoryGroup{},
		units:   map[string]*Activation{},
		calls:   callsOf(h.Arch),

		pageSize: uint64(max(h.PageSize, 4096)),
	}
	if t != nil {
		b.last = max(t.End, h.Start)
		b.changes = slices.Clone(t.CPUChanges)
	}
	// In a trace that was cut off, the switches go on for a while after the last fork that is there.
	b.forksOK = b.tl.Can.Process && t != nil
	for _, s := range sinks {
		if i, ok := s.(IntervalSink); ok {
			b.intervalSinks = append(b.intervalSinks, i)
		}
		if w, ok := s.(WakeSink); ok {
			b.wakeSinks = append(b.wakeSinks, w)
		}
	}
	b.beginFrequencies()
	return b
}

// add takes one event in. Whatever its order and content, the model stays consistent.
func (b *builder) add(e event.Event) {
	time := e.Head().Time
	b.tl.Events++
	if told(e) {
		b.addTold(e)
		return
	}
	b.now = min(max(b.now, time), b.last)
	if len(b.changes) > 0 {
		b.changeCPUs(b.now)
	}
	// Probes are attached and detached one by one, so before and after the recording some events are
	// missing. Who was born before it is worth knowing nevertheless.
	before, after := time < b.tl.Start, time > b.last
	switch e := e.(type) {
	case *event.Switch:
		if !before && !after {
			b.onSwitch(e)
		}
	case *event.Waking:
		if !before && !after {
			b.onWaking(e)
		}
	case *event.Open, *event.Fault, *event.Sample, *event.Reclaim, *event.Sync, *event.Socket:
		if !before && !after {
			b.addOfThread(e)
		}
	case *event.Exec:
		if !after {
			b.takeOver(e)
			b.addOfThread(e)
		}
	case *event.Fork, *event.Args, *event.Exit, *event.Rename, *event.CgroupAttach:
		if !after {
			b.addOfThread(e)
		}
	default:
		b.addFact(e)
	}
}

// addFact takes in what doesn't come from the CPU that it names, and holds whenever it is told.
func (b *builder) addFact(e event.Event) {
	switch e := e.(type) {
	case *event.Task:
		b.onTask(e)
	case *event.Lost:
		b.onLost(e)
	case *event.Clock:
		b.tl.Clocks = append(b.tl.Clocks, Clock{e.Time, e.Realtime, e.Monotonic, e.Reason})
	case *event.Cgroup:
		if e.Hierarchy == 0 {
			b.cgroups[e.Cgroup] = string(e.TailBytes())
		} else { // ids of their own, and no task's is one of them
			b.others[groupKey{e.Hierarchy, e.Cgroup}] = string(e.TailBytes())
		}
	case *event.Path:
		b.onPath(e)
	case *event.Mapping:
		b.onMapping(e)
	case *event.Read:
		if e.Last >= b.tl.Start && e.Start <= b.last {
			b.onRead(e)
		}
	case *event.Memory:
		b.onMemory(e)
	case *event.Cpufreq:
		b.onFrequency(e)
	case *event.Interrupts:
		b.onInterrupts(e)
	}
}

// addOfThread takes in what the thread does or undergoes that runs on the event's CPU.
func (b *builder) addOfThread(e event.Event) {
	th := b.caller(e.Head())
	if th == nil {
		return
	}
	switch e := e.(type) {
	case *event.Fork:
		b.onFork(th, e)
	case *event.Exec:
		b.onExec(th, e)
	case *event.Args:
		onArgs(th.Process, e)
	case *event.Exit:
		b.onExit(th, e)
	case *event.Rename:
		b.onRename(e)
	case *event.CgroupAttach:
		b.onCgroupAttach(e)
	case *event.Open:
		b.onOpen(th, e)
	case *event.Fault:
		b.onFault(th, e)
	case *event.Reclaim:
		b.onReclaim(th, e)
	case *event.Sync:
		b.onSync(th, e)
	case *event.Socket:
		b.onSocket(th, e)
	case *event.Sample:
		th.Samples++
		for _, s := range b.sinks {
			s.Sample(th, e)
		}
	}
}

// finish ends what is open and adds up.
func (b *builder) finish() {
	if b.tl.Trailer != nil {
		b.now = b.last
	}
	b.changeCPUs(b.now)
	b.tl.End = b.now
	b.finishCPUs()
	for _, th := range b.tl.Threads {
		if !th.ended {
			b.finishThread(th)
		}
		if th.Process == nil {
			b.settleProcess(th)
		}
	}
	for _, p := range b.tl.Processes {
		b.finishProcess(p)
	}
	b.finishFrequencies()
	b.finishUnits()
	b.joinUnits()
	b.finishBoot()
	b.finishMemory()
	b.finishFiles()
	b.finishLosses()
}

// finishLosses takes the larger of what the events and the trailer say: an event can be lost itself, and
// some losses are only known at the end.
func (b *builder) finishLosses() {
	if t := b.tl.Trailer; t != nil {
		for _, l := range t.Lost {
			key := Loss{Probe: l.Probe, Reason: l.Reason}
			b.lost[key] = max(b.lost[key], l.Count)
		}
	}
	b.tl.Losses = make([]Loss, 0, len(b.lost))
	for l, n := range b.lost {
		if l.Count = n; n > 0 {
			b.tl.Losses = append(b.tl.Losses, l)
		}
	}
	sort.Slice(b.tl.Losses, func(i, j int) bool {
		x, y := b.tl.Losses[i], b.tl.Losses[j]
		return x.Probe < y.Probe || x.Probe == y.Probe && x.Reason < y.Reason
	})
}

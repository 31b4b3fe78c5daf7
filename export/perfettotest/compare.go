package perfettotest

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// maxDifferences is how many are told.
const maxDifferences = 20

// Compare returns what a trace has otherwise than the recording that it was made of: event by event,
// every name, and every time to the nanosecond.
func Compare(source tracefile.Source, got *Trace) ([]string, error) {
	c := &comparison{got: got}
	modules := python.NewCollector()
	tl, err := timeline.Build(source, c, modules)
	if err != nil {
		return nil, err
	}
	c.tl = tl
	for e, err := range source.Events() {
		if err != nil {
			return nil, err
		}
		c.event(e)
	}
	c.events()
	c.model()
	c.nesting()
	c.imports(modules.Interpreters())
	c.running()
	return c.differences, nil
}

// comparison has what the recording says, as the trace should.
type comparison struct {
	timeline.Discard
	got         *Trace
	tl          *timeline.Timeline
	differences []string

	switches []Switch
	wakings  []Waking
	names    map[uint32]string // of the tasks whose name was told by now
	tasks    []NewTask
	renames  []Rename
	blocked  []Blocked
	khz      map[int]int64
	freqs    []Frequency
	clocks   []map[int64]uint64
	opens    []moment
	faults   []moment
	losses   []moment
	lostOn   int
	dead     map[Free]bool
}

// moment is an instant on a track, without what differs between kinds.
type moment struct {
	Time uint64
	TID  int64 // 0 if the track is not a thread's
	Name string
	Args string
}

func (c *comparison) differ(format string, args ...any) {
	if len(c.differences) < maxDifferences {
		c.differences = append(c.differences, fmt.Sprintf(format, args...))
	}
}

// same compares two lists one by one.
func same[T comparable](c *comparison, what string, got, want []T) {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			c.differ("%s %d: got %+v, want %+v", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		c.differ("%d times %s, want %d", len(got), what, len(want))
	}
}

// valid is a string as protobuf and people can have it.
func valid(s string) string {
	var b []byte
	for _, r := range s {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// anyName is the name of a task that no event has told yet.
const anyName = "?"

func (c *comparison) nameOf(tid uint32, cpu uint16) string {
	if tid == 0 {
		return fmt.Sprintf("swapper/%d", cpu)
	}
	if name, ok := c.names[tid]; ok {
		return valid(name)
	}
	return anyName
}

// isThread tells whether a fork made a thread of its parent's process. If the event doesn't say, there is a
// process with the id or there is none.
func (c *comparison) isThread(e *event.Fork) bool {
	if e.ChildPID != 0 {
		return e.ChildPID != e.ChildTID
	}
	return !slices.ContainsFunc(c.tl.Processes, func(p *timeline.Process) bool { return p.PID == e.ChildTID })
}

// kernelStates are the letters' bits in the kernel's sched_switch.
var kernelStates = map[event.TaskState]int64{
	event.StatePreempted: 256, event.StateYielded: 0, event.StateSleeping: 1, event.StateBlocked: 2,
	event.StateIoWait: 2, event.StateStopped: 4, event.StateDead: 16, event.StateIdle: 128,
}

// event takes an event of the recording as it stands there.
func (c *comparison) event(e event.Event) {
	if c.names == nil {
		c.names, c.khz, c.dead = map[uint32]string{}, map[int]int64{}, map[Free]bool{}
		c.firstFrequencies()
	}
	at := e.Head().Time
	outside := at < c.tl.Start || at > c.tl.End
	switch e := e.(type) {
	case *event.Switch:
		if outside {
			return
		}
		c.onSwitch(e)
	case *event.Waking:
		if outside {
			return
		}
		c.wakings = append(c.wakings, Waking{Time: e.Time, CPU: int(e.CPU), Waker: int64(e.TID), Target: int64(e.Target),
			Name: c.nameOf(e.Target, e.CPU)})
	case *event.Fork:
		if name, ok := c.names[e.TID]; ok {
			c.names[e.ChildTID] = name
		} else {
			delete(c.names, e.ChildTID)
		}
		if outside {
			return
		}
		c.tasks = append(c.tasks, NewTask{Time: e.Time, CPU: int(e.CPU), Parent: int64(e.TID), Child: int64(e.ChildTID),
			Name: c.nameOf(e.ChildTID, 0), Thread: c.isThread(e)})
	case *event.Rename:
		old := c.nameOf(e.Target, 0)
		c.names[e.Target] = event.Comm(e.Comm)
		if outside {
			return
		}
		c.renames = append(c.renames, Rename{e.Time, int64(e.Target), old, c.nameOf(e.Target, 0)})
	case *event.Task:
		if _, told := c.names[e.TID]; !told && event.Comm(e.Comm) != "" {
			c.names[e.TID] = event.Comm(e.Comm)
		}
	case *event.Cpufreq:
		c.frequency(int(e.TargetCPU), c.within(at), int64(e.Frequency))
	case *event.Clock:
		c.clocks = append(c.clocks, map[int64]uint64{1: e.Realtime, 3: e.Monotonic, 6: e.Time})
	case *event.Lost:
		c.losses = append(c.losses, moment{c.within(at), 0, event.Probe(e.Probe).String() + " events lost",
			fmt.Sprintf("%v %v", event.LostReason(e.Reason), e.Count)})
		if event.Probe(e.Probe) == event.ProbeSched {
			c.lostOn++
		}
	}
}

func (c *comparison) within(at uint64) uint64 { return min(max(at, c.tl.Start), c.tl.End) }

func (c *comparison) onSwitch(e *event.Switch) {
	c.switches = append(c.switches, Switch{Time: e.Time, CPU: int(e.CPU), Prev: int64(e.TID), Next: int64(e.Next),
		State: kernelStates[event.TaskState(e.State)], Name: c.nameOf(e.Next, e.CPU)})
	switch state := event.TaskState(e.State); state {
	case event.StateBlocked, event.StateIoWait:
		if c.tl.Can.IOWait {
			c.blocked = append(c.blocked, Blocked{e.Time, int64(e.TID), state == event.StateIoWait})
		}
	case event.StateDead:
		c.dead[Free{e.Time, 0}] = true
	}
}

func (c *comparison) firstFrequencies() {
	for _, p := range c.tl.Header.CPUFreq {
		for _, cpu := range p.CPUs {
			if c.tl.Can.CPUFreq {
				c.frequency(cpu, c.tl.Start, int64(p.CurrentKHz))
			}
		}
	}
}

func (c *comparison) frequency(cpu int, at uint64, khz int64) {
	if c.khz[cpu] != khz {
		c.khz[cpu] = khz
		c.freqs = append(c.freqs, Frequency{at, cpu, khz})
	}
}

// Open implements timeline.Sink: it knows the paths.
func (c *comparison) Open(o *timeline.Open) {
	name := "open "
	if o.Result < 0 {
		name = "failed open "
	}
	c.opens = append(c.opens, moment{o.Time, int64(o.Thread.TID), name, valid(o.Path)})
}

// Fault implements timeline.Sink.
func (c *comparison) Fault(th *timeline.Thread, e *event.Fault) {
	c.faults = append(c.faults, moment{e.Time, int64(th.TID), "major fault", fmt.Sprintf("%v %v", e.Addr, e.IP)})
}

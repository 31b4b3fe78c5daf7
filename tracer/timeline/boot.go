package timeline

import (
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/milestone"
)

// Boot is what systemd says of the boot as a whole. Times are 0 for what did not happen, or not yet.
type Boot struct {
	Firmware, Loader uint64 // how long they took, before the kernel began
	Initrd           uint64 // when it began
	Userspace        uint64 // when the real system's systemd began
	Finished         uint64 // when all was done that it had to do
	Properties       map[string]string
}

// Phase is a part of the boot. Times are nanoseconds from the kernel's start: what is before is negative.
type Phase struct {
	Name       string
	Start, End int64
	Ended      bool // else End is not known
}

// Milestone is a moment that somebody named.
type Milestone struct {
	Name   string
	Time   uint64
	Source string // its spec
	PID    uint32 // of who reached it, 0 if not known
	// Chosen: the reader of the recording asked for it.
	Chosen bool
}

// KernelLine is a line of the kernel's log.
type KernelLine struct {
	Time     uint64
	Priority uint32
	Text     string
}

// JournalLine is a message of the journal.
type JournalLine struct {
	Time             uint64
	PID              uint32
	Priority         uint32
	Unit, Identifier string
	Message          string
}

// ClockStep is a step of the wall clock.
type ClockStep struct {
	Time uint64 // when it was noticed, at once
	By   int64  // nanoseconds, negative when it was set back
}

const (
	// ahead is how much later than when it was told a moment may be: clocks are read one after the other,
	// and the kernel's log has one of its own. More is nonsense.
	ahead = 1e9
	// longest is more than any firmware or loader takes.
	longest = 3600e9
)

// told tells whether an event's time is when something happened of which the recorder was told. It says
// nothing about the time at which the events around it were recorded.
func told(e event.Event) bool {
	switch e.(type) {
	case *event.KernelLog, *event.Unit, *event.Manager, *event.Journal, *event.Milestone:
		return true
	}
	return false
}

// addTold takes in what systemd, the logs and the user say.
func (b *builder) addTold(e event.Event) {
	switch e := e.(type) {
	case *event.Unit:
		b.onUnit(e)
	case *event.Manager:
		b.onManager(e)
	case *event.KernelLog:
		b.tl.KernelLog = append(b.tl.KernelLog, KernelLine{e.Time, e.Priority, string(e.TailBytes())})
	case *event.Journal:
		s := append(tailStrings(e.TailBytes()), "", "", "")
		b.tl.Journal = append(b.tl.Journal, JournalLine{e.Time, e.PID, e.Priority, s[0], s[1], s[2]})
		if e.Time == 0 {
			b.undated = append(b.undated, undatedLine{len(b.tl.Journal) - 1, e.Realtime})
		}
	case *event.Milestone:
		s := append(tailStrings(e.TailBytes()), "", "")
		b.tl.Milestones = append(b.tl.Milestones, Milestone{Name: s[0], Time: e.Time, Source: s[1], PID: e.PID})
	}
}

// undatedLine is a line of the journal that has a wall-clock time only.
type undatedLine struct {
	index    int
	realtime uint64
}

// tailStrings splits strings that each end with a NUL.
func tailStrings(tail []byte) []string {
	return strings.Split(strings.TrimSuffix(string(tail), "\x00"), "\x00")
}

// propertiesOf reads NAME=VALUE.
func propertiesOf(tail []byte) map[string]string {
	p := map[string]string{}
	for _, s := range tailStrings(tail) {
		if name, value, ok := strings.Cut(s, "="); ok {
			p[name] = value
		}
	}
	return p
}

func (b *builder) onManager(e *event.Manager) {
	sane := func(at uint64) uint64 { return saneTime(at, b.toldAt(e)) }
	boot := &Boot{
		Firmware: e.Firmware, Loader: e.Loader, Initrd: sane(e.Initrd), Userspace: sane(e.Userspace),
		Finished: sane(e.Finished), Properties: propertiesOf(e.TailBytes()),
	}
	if boot.Loader > longest {
		boot.Loader, boot.Firmware = 0, 0 // the firmware's is counted from the loader's begin
	}
	if boot.Firmware > longest {
		boot.Firmware = 0
	}
	if boot.Initrd >= boot.Userspace {
		boot.Initrd = 0
	}
	if boot.Finished < boot.Userspace {
		boot.Finished = 0
	}
	b.tl.Boot = boot
}

// toldAt returns when the recorder was told: not long after the end, whatever the event says.
func (b *builder) toldAt(e event.Event) uint64 {
	if b.tl.Trailer == nil {
		return e.Head().Time
	}
	return min(e.Head().Time, b.last+afterEnd)
}

// saneTime is 0 for a time that is unset or can't be: later than when it was told.
func saneTime(at, told uint64) uint64 {
	if at > told && at-told > ahead {
		return 0
	}
	return at
}

// finishBoot gives lines of the journal that have only a wall-clock time their time from boot, and sorts.
// What can't be is left out.
func (b *builder) finishBoot() {
	t := b.tl
	var wall milestone.WallClock
	sort.SliceStable(t.Clocks, func(i, j int) bool { return t.Clocks[i].Boot < t.Clocks[j].Boot })
	for _, c := range t.Clocks {
		wall.Read(c.Boot, c.Realtime)
	}
	for _, u := range b.undated {
		t.Journal[u.index].Time, _ = wall.ToBoot(int64(u.realtime), t.End)
	}
	t.Journal = dated(t.Journal, t.End, func(l JournalLine) uint64 { return l.Time })
	t.Milestones = dated(t.Milestones, t.End, func(m Milestone) uint64 { return m.Time })
	// The first lines of the kernel have the stamp 0: its clock has not begun yet.
	sort.SliceStable(t.KernelLog, func(i, j int) bool { return t.KernelLog[i].Time < t.KernelLog[j].Time })
	n := sort.Search(len(t.KernelLog), func(i int) bool { return saneTime(t.KernelLog[i].Time, t.End+afterEnd) != t.KernelLog[i].Time })
	t.KernelLog = t.KernelLog[:n]
}

// afterEnd is how long after the end of the recording something may happen that it still tells of: the logs
// are read when everything else is done.
const afterEnd = 60e9

// dated keeps what has a time that can be, in order of time.
func dated[T any](list []T, end uint64, at func(T) uint64) []T {
	kept := list[:0]
	for _, x := range list {
		if t := at(x); t != 0 && saneTime(t, end+afterEnd) != 0 {
			kept = append(kept, x)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return at(kept[i]) < at(kept[j]) })
	return kept
}

// Phases are the parts of the boot, as far as systemd was asked for them; without it, the kernel's alone.
func (t *Timeline) Phases() (list []Phase) {
	if t.Boot == nil {
		return t.kernelPhase()
	}
	add := func(name string, start, end int64) { list = append(list, Phase{name, start, end, true}) }
	b, loader := t.Boot, -int64(t.Boot.Loader)
	if b.Firmware > 0 {
		add("firmware", loader-int64(b.Firmware), loader)
	}
	if b.Loader > 0 {
		add("loader", loader, 0)
	}
	if b.Userspace == 0 { // a container: its systemd knows no kernel's start
		return list
	}
	if b.Initrd > 0 {
		add("kernel", 0, int64(b.Initrd))
		add("initrd", int64(b.Initrd), int64(b.Userspace))
	} else {
		add("kernel", 0, int64(b.Userspace))
	}
	return append(list, Phase{"userspace", int64(b.Userspace), int64(b.Finished), b.Finished != 0})
}

// kernelPhase is the kernel's part as its own log tells it: until it ran the first program.
func (t *Timeline) kernelPhase() []Phase {
	for _, line := range t.KernelLog {
		if strings.HasPrefix(line.Text, "Run ") && strings.HasSuffix(line.Text, " as init process") {
			return []Phase{{"kernel", 0, int64(line.Time), true}}
		}
	}
	return nil
}

// ClockSteps are the steps of the wall clock that were seen.
func (t *Timeline) ClockSteps() (list []ClockStep) {
	for i := 1; i < len(t.Clocks); i++ {
		a, b := t.Clocks[i-1], t.Clocks[i]
		if event.ClockReason(b.Reason) == event.ClockStepped {
			list = append(list, ClockStep{b.Boot, int64(b.Realtime-a.Realtime) - int64(b.Boot-a.Boot)})
		}
	}
	return list
}

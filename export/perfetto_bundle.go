package export

import (
	pb "github.com/bootscope/bootscope/export/perfettopb"
	"github.com/bootscope/bootscope/tracer/event"
)

// maxBundle is how many events a bundle holds: enough that its table of names costs nothing beside them.
const maxBundle = 2048

// A perfettoBundle collects events of one CPU. Switches and wakings go in columns, about nine bytes each;
// the columns and the other events are in order of time, each for itself, and readers sort.
type perfettoBundle struct {
	cpu    int
	lost   bool // switches were lost before the first event
	events pb.Message
	count  int

	names    pb.Message
	numbers  map[string]uint64 // of the names
	switches struct {
		last                          uint64
		time, state, next, prio, name pb.Packed
	}
	wakings struct {
		last                          uint64
		interrupts                    bool // one of them came from one
		time, target, cpu, prio, name pb.Packed
		flags                         pb.Packed
	}

	content, compact pb.Message // to write it
}

// ambiguous tells whether a switch can't go in a column: a waking has the same time, and readers would
// take the switch for the earlier one. They read the columns first, the switches before the wakings.
func (b *perfettoBundle) ambiguous(at uint64) bool { return at == b.wakings.last }

// unknownPriority is what a switch or a waking has for a priority: a number beyond those of all tasks
// (0 to 139). The recording doesn't have it, the columns must.
const unknownPriority = 140

func (b *perfettoBundle) addSwitch(at uint64, state int64, next uint32, name string) {
	s := &b.switches
	s.time.Uint(at - s.last)
	s.last = at
	s.state.Int(state)
	s.next.Int(int64(int32(next)))
	s.prio.Int(unknownPriority)
	s.name.Uint(b.number(name))
	b.count++
}

func (b *perfettoBundle) addWaking(at uint64, target uint32, cpu int32, name string, flags uint64) {
	w := &b.wakings
	w.time.Uint(at - w.last)
	w.last = at
	w.target.Int(int64(int32(target)))
	w.cpu.Int(int64(cpu))
	w.prio.Int(unknownPriority)
	w.name.Uint(b.number(name))
	w.flags.Uint(flags)
	w.interrupts = w.interrupts || flags != 0
	b.count++
}

// number returns the place of a name in the bundle's table.
func (b *perfettoBundle) number(name string) uint64 {
	n, ok := b.numbers[name]
	if !ok {
		n = uint64(len(b.numbers))
		b.numbers[name] = n
		b.names.String(pb.CompactNames, name)
	}
	return n
}

// addEvent adds an event in its long form.
func (b *perfettoBundle) addEvent(e *pb.Message) {
	b.events.Message(pb.BundleEvent, e)
	b.count++
}

// write writes the bundle, if it has something, and empties it.
func (b *perfettoBundle) write(w *perfettoWriter) {
	if b.count == 0 && !b.lost {
		return
	}
	b.content.Reset()
	b.content.Uint(pb.BundleCPU, uint64(b.cpu))
	if b.lost {
		b.content.Bool(pb.BundleLostEvents, true)
	}
	if len(b.numbers) > 0 {
		b.encodeColumns()
		b.content.Message(pb.BundleCompactSched, &b.compact)
	}
	b.content.Append(&b.events)
	w.plain(pb.PacketFtraceEvents, &b.content)
	b.reset()
}

func (b *perfettoBundle) encodeColumns() {
	c := &b.compact
	c.Reset()
	c.Append(&b.names)
	c.Packed(pb.CompactSwitchTime, &b.switches.time)
	c.Packed(pb.CompactSwitchState, &b.switches.state)
	c.Packed(pb.CompactSwitchNext, &b.switches.next)
	c.Packed(pb.CompactSwitchPriority, &b.switches.prio)
	c.Packed(pb.CompactSwitchName, &b.switches.name)
	c.Packed(pb.CompactWakingTime, &b.wakings.time)
	c.Packed(pb.CompactWakingTarget, &b.wakings.target)
	c.Packed(pb.CompactWakingCPU, &b.wakings.cpu)
	c.Packed(pb.CompactWakingPriority, &b.wakings.prio)
	c.Packed(pb.CompactWakingName, &b.wakings.name)
	if b.wakings.interrupts {
		c.Packed(pb.CompactWakingFlags, &b.wakings.flags)
	}
}

func (b *perfettoBundle) reset() {
	b.lost, b.count = false, 0
	b.events.Reset()
	b.names.Reset()
	clear(b.numbers)
	b.switches.last, b.wakings.last, b.wakings.interrupts = 0, 0, false
	for _, column := range []*pb.Packed{
		&b.switches.time, &b.switches.state, &b.switches.next, &b.switches.prio, &b.switches.name,
		&b.wakings.time, &b.wakings.target, &b.wakings.cpu, &b.wakings.prio, &b.wakings.name, &b.wakings.flags,
	} {
		column.Reset()
	}
}

// The states as the kernel's tracer writes them from Linux 4.14 on (TASK_REPORT in
// include/linux/sched.h, and TASK_REPORT_IDLE and TASK_REPORT_MAX above it).
var perfettoStates = [...]int64{
	event.StatePreempted: 0x100,
	event.StateYielded:   0x00,
	event.StateSleeping:  0x01,
	event.StateBlocked:   0x02,
	event.StateIoWait:    0x02,
	event.StateStopped:   0x04,
	event.StateDead:      0x10,
	event.StateIdle:      0x80,
}

// unknownState stands for a state of a later version. No kernel writes it, so it is shown as unknown.
const unknownState = 0x200

func perfettoState(s event.TaskState) int64 {
	if int(s) < len(perfettoStates) {
		return perfettoStates[s]
	}
	return unknownState
}

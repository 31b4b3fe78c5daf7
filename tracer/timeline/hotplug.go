package timeline

import (
	"slices"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Absence is a stretch of time in which a CPU was offline.
type Absence struct {
	From, To uint64
}

// CPUTime returns how long all CPUs together were online in a stretch of time: what can be busy or idle.
func (t *Timeline) CPUTime(from, to uint64) uint64 {
	n := uint64(len(t.Header.Online))
	for _, c := range t.CPUs {
		if !slices.Contains(t.Header.Online, c.ID) {
			n++ // it came later, or nobody has said which were online
		}
	}
	if n == 0 {
		n = uint64(max(t.Header.CPUs, 1))
	}
	sum := n * (to - from)
	for _, c := range t.CPUs {
		for _, a := range c.Absences {
			if a.From < to && a.To > from {
				sum -= min(a.To, to) - max(a.From, from)
			}
		}
	}
	return sum
}

// beginOffline makes a CPU one that was offline when the recording began, if it was.
func (b *builder) beginOffline(c *cpuState) {
	if online := b.tl.Header.Online; len(online) > 0 && !slices.Contains(online, c.ID) {
		c.offline, c.fresh = true, false
	}
}

// changeCPUs takes in which CPUs went and came until a moment.
func (b *builder) changeCPUs(until uint64) {
	for len(b.changes) > 0 && b.changes[0].Time <= until {
		b.changeCPU(&b.changes[0])
		b.changes = b.changes[1:]
	}
}

func (b *builder) changeCPU(change *tracefile.CPUChange) {
	if change.Time < b.tl.Start || change.CPU < 0 || change.CPU >= maxCPUs {
		return // the header has it already
	}
	c := b.cpu(change.CPU)
	switch {
	case change.Online && c.offline:
		c.enter(change.Time)
	case !change.Online && !c.offline && c.current == nil:
		c.leave(change.Time)
	}
	// Else its own events have told it. With a thread on it a CPU doesn't go: this one is back already.
}

// leave makes a CPU one that is offline. The last thing that it does is to become idle, so it left then.
func (c *cpuState) leave(now uint64) {
	if c.known {
		now = max(c.since, c.seen)
	}
	c.account(now)
	c.accountFrequency(now)
	c.offline, c.known, c.fresh, c.left = true, false, false, now
}

// enter makes a CPU one that is online. What it does is not known yet.
func (c *cpuState) enter(now uint64) {
	c.account(now)
	c.accountFrequency(now)
	c.offline = false
	if now > c.left {
		c.Absences = append(c.Absences, Absence{c.left, now})
	}
}

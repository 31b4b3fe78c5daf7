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
		c.comeOnline(change.Time)
	case !change.Online && !c.offline:
		b.goOffline(c, change.Time)
	}
	// Else its own events have told it.
}

// goOffline makes a CPU one that is offline. The last that is seen of it is a switch to the thread that stops it
// ("migration/N"): the kernel traces nothing on a CPU that is not online, so it left then. Where that thread
// went is not known.
func (b *builder) goOffline(c *cpuState, now uint64) {
	if c.known {
		now = max(c.since, c.seen)
		if th := c.current; th != nil {
			b.closeAs(th, Running, now)
			th.state, th.fresh, th.woken = Unknown, false, false
		}
	}
	c.account(now)
	c.accountFrequency(now)
	c.offline, c.known, c.current, c.fresh, c.left = true, false, nil, false, now
}

// comeOnline makes a CPU one that is online. What it does is not known yet.
func (c *cpuState) comeOnline(now uint64) {
	c.account(now)
	c.accountFrequency(now)
	c.offline = false
	if now > c.left {
		c.Absences = append(c.Absences, Absence{c.left, now})
	}
}

// maxLateness is how long it may take, on a busy machine, until the recorder knows that a CPU has gone.
const maxLateness = 5e9

// wasAway tells whether a CPU has gone and is back before the recorder knew, now that its events don't follow
// from one another.
func (b *builder) wasAway(c *cpuState) bool {
	for i, change := range b.changes {
		switch {
		case change.Time > b.now+maxLateness || change.CPU == c.ID && change.Online:
			return false
		case change.CPU == c.ID:
			b.changes = slices.Delete(b.changes, i, i+1)
			return true
		}
	}
	return false
}

package timeline

import (
	"sort"
	"strconv"

	"github.com/bootscope/bootscope/tracer/event"
)

// maxCPUs bounds CPU numbers from the header; an event's has 16 bits.
const maxCPUs = 1 << 16

// beginFrequencies takes the frequencies that the header has. Without the probe nothing tells how long
// they last.
func (b *builder) beginFrequencies() {
	if !b.tl.Can.CPUFreq {
		return
	}
	for _, policy := range b.tl.Header.CPUFreq {
		for _, id := range policy.CPUs {
			if id < 0 || id >= maxCPUs || policy.CurrentKHz == 0 {
				continue
			}
			c := b.cpu(id)
			c.khz, c.khzKnown = policy.CurrentKHz, true
			b.sendFrequency(c, b.tl.Start)
		}
	}
}

func (b *builder) onFrequency(e *event.Cpufreq) {
	if e.TargetCPU >= maxCPUs {
		return
	}
	c := b.cpu(int(e.TargetCPU))
	changes := !c.khzKnown || c.khz != e.Frequency
	// The header's frequency was read after recording had begun: this may be the change that led to it.
	if !c.khzTold && len(b.tl.Clocks) == 0 {
		changes = true
	}
	c.khzTold = true
	if !changes || e.Time > b.last {
		return // a notification that nothing changed
	}
	c.accountFrequency(b.now)
	c.khz, c.khzKnown = e.Frequency, true
	if e.Time >= b.tl.Start {
		c.Transitions++
	}
	b.sendFrequency(c, b.now)
}

func (b *builder) sendFrequency(c *cpuState, at uint64) {
	for _, s := range b.sinks {
		s.Frequency(c.ID, at, c.khz)
	}
}

func (c *cpuState) accountFrequency(now uint64) {
	ns := now - c.khzSince
	c.khzSince = now
	if c.offline {
		return
	}
	if !c.khzKnown {
		c.UnknownFrequency += ns
		return
	}
	for i := range c.Frequencies {
		if c.Frequencies[i].KHz == c.khz {
			c.Frequencies[i].Time += ns
			return
		}
	}
	c.Frequencies = append(c.Frequencies, FreqTime{c.khz, ns})
}

// finishFrequencies sums up by policy. A CPU of no policy that changed its frequency is one of its own.
func (b *builder) finishFrequencies() {
	inPolicy := map[int]bool{}
	for _, h := range b.tl.Header.CPUFreq {
		p := &FreqPolicy{Name: h.Name, CPUs: h.CPUs, Governor: h.Governor}
		for _, id := range h.CPUs {
			inPolicy[id] = true
		}
		b.tl.Policies = append(b.tl.Policies, p)
	}
	for _, c := range b.cpus {
		if c == nil || !c.khzKnown {
			continue
		}
		c.accountFrequency(b.now)
		sort.Slice(c.Frequencies, func(i, j int) bool { return c.Frequencies[i].KHz < c.Frequencies[j].KHz })
		if !inPolicy[c.ID] {
			b.tl.Policies = append(b.tl.Policies, &FreqPolicy{Name: "cpu" + strconv.Itoa(c.ID), CPUs: []int{c.ID}})
		}
	}
	for _, p := range b.tl.Policies {
		if len(p.CPUs) == 0 || p.CPUs[0] < 0 || p.CPUs[0] >= len(b.cpus) || b.cpus[p.CPUs[0]] == nil {
			continue
		}
		first := b.cpus[p.CPUs[0]]
		p.Times, p.Transitions = first.Frequencies, first.Transitions
	}
}

// GovernorThread returns the thread that sets the frequencies of a policy for schedutil: "sugov:" and the
// policy's first CPU. There is none where the driver can do it from the scheduler, and other governors use
// the kernel's common workers.
func (t *Timeline) GovernorThread(p *FreqPolicy) *Thread {
	if len(p.CPUs) == 0 {
		return nil
	}
	name := "sugov:" + strconv.Itoa(p.CPUs[0])
	for _, th := range t.Threads {
		if th.Comm == name && th.Process.Kernel {
			return th
		}
	}
	return nil
}

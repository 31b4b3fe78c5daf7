package timeline

import (
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Abilities is what a recording can tell. What it can't must be shown as absent, not as zero.
type Abilities struct {
	Sched    bool // thread states
	IOWait   bool // tells Blocked and IOWait apart
	Syscalls bool // tells the system call in which a thread sleeps, and page faults by having none
	Process  bool // forks, execs and exits
	Opens    bool
	Faults   bool
	CPUFreq  bool
	Reads    bool
	Reclaim  bool
	Syncs    bool
	Sockets  bool
	Wakers   bool // tells interrupts and timers from tasks as what wakes
	Samples  bool
	Statuses []tracefile.ProbeStatus // as they were at the end
}

func abilitiesOf(h *tracefile.Header, t *tracefile.Trailer) Abilities {
	statuses := h.Probes
	if t != nil && len(t.Probes) > 0 {
		statuses = t.Probes
	}
	on := map[string]tracefile.ProbeStatus{}
	for _, s := range statuses {
		if s.Status != tracefile.StatusOff {
			on[s.Name] = s
		}
	}
	has := func(p event.Probe) bool { _, ok := on[p.String()]; return ok }
	// The tracepoint's record has the state, but neither in_iowait nor the saved registers.
	switches := has(event.ProbeSched) && !strings.HasPrefix(on[event.ProbeSched.String()].Via, "tracepoint")
	return Abilities{
		Sched:    has(event.ProbeSched),
		IOWait:   switches,
		Syscalls: switches,
		Process:  has(event.ProbeProcess),
		Opens:    has(event.ProbeOpen),
		Faults:   has(event.ProbeFault),
		CPUFreq:  has(event.ProbeCpufreq),
		Reads:    has(event.ProbeRead),
		Reclaim:  has(event.ProbeReclaim),
		Syncs:    has(event.ProbeSync),
		Sockets:  has(event.ProbeSocket),
		Wakers:   has(event.ProbeIrq),
		Samples:  has(event.ProbeSample),
		Statuses: statuses,
	}
}

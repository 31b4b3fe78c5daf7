package findings

import (
	"fmt"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// unitWait looks for units whose start takes long although little of them runs, such as one that waits for
// a network that nobody has plugged in: what comes after them waits as well.
type unitWait struct{ timeline.Discard }

const (
	// Less is nothing that a user waits for.
	minUnitWait = 2e9
	// A unit of which something runs for longer, or wants to, is at work. Where all start at once, a shell that only
	// waits has waited for a CPU for seconds before it gets to that.
	atWork = 0.5
	// A device is nobody's process: it counts if the machine had nothing better to do meanwhile.
	idleForDevice = 0.5
	// With less of the start recorded, nobody knows what it did.
	minRecorded = 0.5
)

// A waitingUnit is a unit that waited while it was started.
type waitingUnit struct {
	*timeline.Unit
	from, to uint64
	waited   uint64 // of that
	did      timeline.Did
	idle     float64
	idleSeen bool
}

// Find implements Detector.
func (unitWait) Find(r *Recording) (found []Finding) {
	if !r.Can.Sched {
		return nil
	}
	links, goal := r.Goal()
	for _, u := range r.Units {
		if w := r.waitingUnit(u); w != nil {
			found = append(found, w.finding(r, links, goal))
		}
	}
	return found
}

// waitingUnit returns a unit that waited while it was started, nil for one that did not.
func (r *Recording) waitingUnit(u *timeline.Unit) *waitingUnit {
	if u.Systemd == nil || u.Systemd.Activating == 0 || recorders(u) {
		return nil
	}
	w := &waitingUnit{Unit: u, from: u.Systemd.Activating, to: u.Systemd.Done()}
	if w.to == 0 {
		w.to = r.End
	}
	seen := min(w.to, r.End) - min(max(w.from, r.Start), min(w.to, r.End))
	if w.to < w.from+minUnitWait || float64(seen) < minRecorded*float64(w.to-w.from) {
		return nil
	}
	w.did = r.Activity.Did(u.Threads(), w.from, w.to)
	w.idle, w.idleSeen = r.Idle(w.from, w.to)
	if strings.HasSuffix(u.Name, ".device") {
		if !w.idleSeen || w.idle < idleForDevice {
			return nil
		}
		w.waited = w.to - w.from
		return w
	}
	t := &w.did.Times
	work := t[timeline.Running] + t[timeline.Runnable] + t[timeline.IOWait] + t[timeline.Blocked]
	if t[timeline.Sleeping] == 0 || float64(work) > atWork*float64(seen) {
		return nil
	}
	if w.waited = w.to - w.from - work; w.waited < minUnitWait {
		return nil
	}
	return w
}

// recorders tells whether it is the recorder's own unit.
func recorders(u *timeline.Unit) bool {
	for _, p := range u.Processes {
		if p.Recorder {
			return true
		}
	}
	return false
}

func (w *waitingUnit) finding(r *Recording, links []timeline.Link, goal string) Finding {
	f := Finding{
		ID: "unit-wait", Title: "a unit waits while it starts", Cost: w.waited, Unit: w.Name,
		Evidence: []string{w.when(r), w.meanwhile(r)}, Remedy: w.remedy(),
	}
	if strings.HasSuffix(w.Name, ".device") {
		f.Title = "a device comes late"
	}
	// What systemd was not asked for, such as who comes after whom, can't be in the chain.
	if n := len(links); n > 0 && links[n-1].Unit.Systemd.Asked {
		f.Evidence = append(f.Evidence, onChain(w.Unit, links, goal))
	}
	if why := whyStarted(w.Systemd); why != "" {
		f.Evidence = append(f.Evidence, why)
	}
	return f
}

// when says when it began, and how that ended.
func (w *waitingUnit) when(r *Recording) string {
	a, outcome := w.Systemd, "was up"
	switch result := a.Property("Result"); {
	case a.Done() == 0:
		outcome = "was not up when the recording ended,"
	case a.Active == 0 && result == "timeout":
		outcome = "was ended by its time-out"
	case a.Active == 0 && (a.Property("ActiveState") == "failed" || result != "" && result != "success"):
		outcome = "failed"
	case a.Active == 0:
		outcome = "had done its work"
	}
	return fmt.Sprintf("%s began to start at %s and %s at %s, after %s", w.Name, seconds(w.from), outcome, seconds(w.to), seconds(w.to-w.from))
}

// meanwhile says what went on between.
func (w *waitingUnit) meanwhile(r *Recording) string {
	s := "nothing of it ran meanwhile"
	if t := &w.did.Times; len(w.Processes) > 0 {
		s = fmt.Sprintf("meanwhile it ran for %s and waited %s for a CPU, %s for storage or blocked",
			seconds(t[timeline.Running]), seconds(t[timeline.Runnable]), seconds(t[timeline.IOWait]+t[timeline.Blocked]))
		if w.did.Syscall != event.NoSyscall && w.did.Waited > 0 {
			s += fmt.Sprintf("; it was asleep in %s for %s", syscalls.Name(r.Header.Arch, w.did.Compat, w.did.Syscall), seconds(w.did.Waited))
		}
	}
	if w.idleSeen {
		s += fmt.Sprintf("; the CPUs were %.0f %% idle", 100*w.idle)
	}
	return s
}

// whyStarted says what pulled a unit in, and which file made it so.
func whyStarted(a *timeline.Activation) string {
	var by []string
	for _, how := range []struct{ property, verb string }{
		{"RequiredBy", "requires"}, {"BoundBy", "is bound to"}, {"WantedBy", "wants"}, {"TriggeredBy", "triggers"},
	} {
		if list := a.List(how.property); len(list) > 0 {
			by = append(by, fmt.Sprintf("%s %s it", some(list), how.verb))
		}
	}
	if list := a.List("EnabledBy"); len(list) > 0 {
		by = append(by, "it was enabled by "+some(list))
	}
	return strings.Join(by, "; ")
}

// some names the first few of a list.
func some(list []string) string {
	if len(list) > named {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:named], ", "), len(list)-named)
	}
	return strings.Join(list, ", ")
}

// onChain says whether what the boot was for had to wait for it.
func onChain(u *timeline.Unit, links []timeline.Link, goal string) string {
	for _, l := range links {
		if l.Unit == u && !l.Own {
			return "it is on the critical chain to " + goal + ", which can be earlier by as much at most"
		}
	}
	return "it is not on the critical chain to " + goal + ", which is no earlier without it"
}

func (w *waitingUnit) remedy() string {
	switch {
	case strings.Contains(w.Name, "wait-online"):
		return "let nothing that matters want network-online.target (a service that listens needs network.target only), or be " +
			"content with one interface or none (--any, RequiredForOnline=no), or with less time (--timeout=), or disable " + w.Name
	case strings.HasSuffix(w.Name, ".device"):
		return "build the driver in, or load it earlier (modules-load.d), or mount what is on it later (nofail, x-systemd.automount)"
	}
	return "find out what it waits for, and start that earlier; let nothing that matters come After= it; or lower its " +
		"TimeoutStartSec= if it waits for what may never come"
}

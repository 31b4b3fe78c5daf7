package findings

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// restartLoop looks for services that fail, and that systemd starts again, over and over.
type restartLoop struct{ timeline.Discard }

// Once or twice may be a race in the boot that the restart is there for.
const minRestarts = 3

// A failure is one life of a service that ended badly.
type failure struct {
	process *timeline.Process
	status  int32
}

// Find implements Detector.
func (restartLoop) Find(r *Recording) (found []Finding) {
	for _, u := range r.Units {
		failures := failuresOf(u)
		// Without systemd's count: who failed was there again, apart from the last time.
		restarts := uint64(max(len(failures), 1) - 1)
		if u.Systemd != nil {
			if n, known := u.Systemd.Restarts(); known {
				restarts = n
			}
		}
		if restarts >= minRestarts && len(failures) > 0 {
			found = append(found, r.loop(u, failures, restarts))
		}
	}
	return found
}

// failuresOf returns the lives of a unit's own processes, those that systemd started, that ended badly, in
// order of time.
func failuresOf(u *timeline.Unit) (list []failure) {
	for _, p := range u.Processes {
		if p.Ended && p.Status != nil && *p.Status != 0 && (p.Parent == nil || p.Parent.Unit != u) {
			list = append(list, failure{p, *p.Status})
		}
	}
	return list
}

func (r *Recording) loop(u *timeline.Unit, failures []failure, restarts uint64) Finding {
	first, last := failures[0], failures[len(failures)-1]
	f := Finding{
		ID: "restart-loop", Title: fmt.Sprintf("a service fails and is started again, %s", times(restarts)), Unit: u.Name,
		Evidence: []string{
			fmt.Sprintf("%s failed %s in the recording, first at %s and last at %s", u.Name, times(uint64(len(failures))),
				seconds(first.process.End), seconds(last.process.End)),
			fmt.Sprintf("the last one was %s, which lived for %s and %s", processName(last.process),
				seconds(last.process.End-last.process.Start), ended(last.status)),
		},
		Remedy: "find out why it fails (journalctl -u " + u.Name + "); until then a longer RestartSec=, or a StartLimitBurst= that ends it, " +
			"leaves the CPU to others",
	}
	for _, p := range u.Processes { // a failing service takes its helpers along
		if p.Ended && p.Start <= last.process.End {
			f.Cost += p.Times[timeline.Running]
		}
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf("its tries ran for %s in all", seconds(f.Cost)))
	if u.Systemd != nil {
		if result := u.Systemd.Property("Result"); result != "" && result != "success" {
			f.Evidence = append(f.Evidence, "systemd calls that "+result)
		}
	}
	return f
}

// ended says how a process ended.
func ended(status int32) string {
	if signal := status & 0x7f; signal != 0 {
		return fmt.Sprintf("was ended by signal %d", signal)
	}
	return fmt.Sprintf("ended with exit code %d", status>>8&0xff)
}

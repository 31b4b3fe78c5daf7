package report

import "github.com/bootscope/bootscope/tracer/timeline"

type unitJSON struct {
	Name     string `json:"name"`
	Start    *secs  `json:"start_s"`
	Active   *secs  `json:"active_s"`
	End      *secs  `json:"end_s"`
	CPU      *secs  `json:"cpu_s"`
	Runnable *secs  `json:"runnable_s"`
	IOWait   *secs  `json:"io_wait_s"`
	readsJSON
	syncsJSON
	reclaimsJSON
	Processes int          `json:"processes"`
	Loaded    *secs        `json:"loaded_s"`
	Systemd   *systemdJSON `json:"systemd"`
}

// systemdJSON is what systemd says of a unit.
type systemdJSON struct {
	Type        *string  `json:"type"`
	State       *string  `json:"state"`
	Result      *string  `json:"result"`
	Restarts    *uint64  `json:"restarts"`
	Live        bool     `json:"seen_live"`
	Again       bool     `json:"first_start_unknown"`
	File        *string  `json:"file"`
	EnabledBy   []string `json:"enabled_by"`
	RequiredBy  []string `json:"required_by"`
	WantedBy    []string `json:"wanted_by"`
	TriggeredBy []string `json:"triggered_by"`
	After       []string `json:"after"`
}

func (r *Report) unitOf(u *timeline.Unit) unitJSON {
	j := unitJSON{
		Name: validUTF8(u.Name), Processes: len(u.Processes), Systemd: systemdOf(u.Systemd),
		Runnable: known(secs(u.Times[timeline.Runnable]), r.Can.Sched),
		IOWait:   known(secs(u.Times[timeline.IOWait]), r.Can.IOWait),
	}
	j.readsJSON, j.syncsJSON, j.reclaimsJSON = r.readsOf(&u.Reads), r.syncsOf(&u.Syncs), r.reclaimsOf(&u.Reclaims)
	cpu, cpuKnown := uint64(0), len(u.Processes) > 0 || r.Can.Sched
	for _, p := range u.Processes {
		ns, ok := r.cpuOf(p)
		cpu += ns
		cpuKnown = cpuKnown && ok
	}
	j.CPU = known(secs(cpu), cpuKnown)
	j.Start, j.End = r.unitLife(u)
	if a := u.Systemd; a != nil {
		j.Active = known(secs(a.Active), a.Active != 0)
	}
	for _, s := range r.Starts {
		if s.Unit == u {
			j.Loaded = known(secs(s.Loaded), s.Loaded != 0)
		}
	}
	return j
}

// unitLife returns when a unit began and ended: what systemd says, and what its processes tell beyond that.
func (r *Report) unitLife(u *timeline.Unit) (start, end *secs) {
	var first, last uint64
	started, ended := len(u.Processes) > 0, len(u.Processes) > 0
	for i, p := range u.Processes {
		started, ended = started && p.StartKnown, ended && p.Ended
		if i == 0 || p.Start < first {
			first = p.Start
		}
		last = max(last, p.End)
	}
	if a := u.Systemd; a != nil {
		if a.Activating != 0 {
			first, started = a.Activating, true
		}
		if a.Inactive != 0 && len(u.Processes) == 0 {
			last, ended = a.Inactive, true
		} else if ended {
			last = max(last, a.Inactive)
		}
	}
	return known(secs(first), started), known(secs(last), ended)
}

func systemdOf(a *timeline.Activation) *systemdJSON {
	if a == nil {
		return nil
	}
	restarts, counted := a.Restarts()
	return &systemdJSON{
		Type: named(a.Property("Type")), State: named(a.Property("ActiveState")), Result: named(a.Property("Result")),
		Restarts: known(restarts, counted), Live: a.Live, Again: a.Again,
		File: named(a.Property("FragmentPath")), EnabledBy: validAll(a.List("EnabledBy")), RequiredBy: validAll(a.List("RequiredBy")),
		WantedBy: validAll(a.List("WantedBy")), TriggeredBy: validAll(a.List("TriggeredBy")), After: validAll(a.List("After")),
	}
}

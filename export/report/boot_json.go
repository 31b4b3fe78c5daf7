package report

import (
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// signedSecs are seconds that may be negative: before the kernel's start, or backwards.
type signedSecs int64

// MarshalJSON implements json.Marshaler.
func (s signedSecs) MarshalJSON() ([]byte, error) {
	if s >= 0 {
		return secs(s).MarshalJSON()
	}
	text, err := secs(-s).MarshalJSON()
	return append([]byte{'-'}, text...), err
}

type milestoneJSON struct {
	Name   string `json:"name"`
	Time   *secs  `json:"t_s"`
	Source string `json:"source"`
}

type phaseJSON struct {
	Name  string      `json:"name"`
	Start signedSecs  `json:"start_s"`
	End   *signedSecs `json:"end_s"`
}

type clockStepJSON struct {
	Time secs       `json:"t_s"`
	By   signedSecs `json:"by_s"`
}

type initcallJSON struct {
	Name   string `json:"name"`
	Start  secs   `json:"start_s"`
	End    secs   `json:"end_s"`
	Result int64  `json:"result"`
}

type chainJSON struct {
	To    *string     `json:"to"`
	Links []stageJSON `json:"links"`
}

type stageJSON struct {
	Unit  string  `json:"unit"`
	About *string `json:"about"`
	Start secs    `json:"start_s"`
	End   secs    `json:"end_s"`
	CPU   *secs   `json:"cpu_s"`
	statesJSON
	Waited  *secs    `json:"waited_s"`
	In      *string  `json:"waited_in"`
	Percent *float64 `json:"idle_percent"`
}

type spendingJSON struct {
	Name   string `json:"name"`
	Took   *secs  `json:"took_s"`
	Budget secs   `json:"budget_s"`
	Over   bool   `json:"over"`
}

func milestonesOf(r *Report) []milestoneJSON {
	list := each(r.Milestones, func(m timeline.Milestone) milestoneJSON {
		return milestoneJSON{validUTF8(m.Name), known(secs(m.Time), true), validUTF8(m.Source)}
	})
	for _, m := range r.Missed {
		list = append(list, milestoneJSON{validUTF8(m.Name), nil, validUTF8(m.Spec)})
	}
	return list
}

func phasesOf(r *Report) []phaseJSON {
	return each(r.Phases(), func(p timeline.Phase) phaseJSON {
		return phaseJSON{p.Name, signedSecs(p.Start), known(signedSecs(p.End), p.Ended)}
	})
}

func clockStepsOf(r *Report) []clockStepJSON {
	return each(r.ClockSteps(), func(s timeline.ClockStep) clockStepJSON { return clockStepJSON{secs(s.Time), signedSecs(s.By)} })
}

func initcallsOf(r *Report) []initcallJSON {
	return each(r.Initcalls(), func(c timeline.Initcall) initcallJSON {
		return initcallJSON{validUTF8(c.Name), secs(c.Start), secs(c.End), c.Result}
	})
}

func chainOf(r *Report) chainJSON {
	_, goal := r.Goal()
	return chainJSON{named(goal), each(r.chain(), r.stageJSONOf)}
}

func (r *Report) stageJSONOf(s *stage) stageJSON {
	j := stageJSON{Unit: validUTF8(s.Name), About: named(s.about), Start: secs(s.from), End: secs(s.to)}
	if s.seen {
		j.CPU, j.statesJSON = known(secs(s.did.Times[timeline.Running]), true), r.statesOf(&s.did.Times)
		if s.did.Waited > 0 && s.did.Syscall != event.NoSyscall {
			j.Waited, j.In = known(secs(s.did.Waited), true), named(syscalls.Name(r.Header.Arch, s.did.Compat, s.did.Syscall))
		}
	}
	if s.idleKnown {
		j.Percent = known(float64(int(1000*s.idle+0.5))/10, true)
	}
	return j
}

func spendingOf(s Spending) spendingJSON {
	return spendingJSON{validUTF8(s.Name), known(secs(s.Took), s.Known), secs(s.Limit), s.Over()}
}

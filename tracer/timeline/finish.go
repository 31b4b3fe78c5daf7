package timeline

import "sort"

// settleProcess gives a thread a process when no event has told which.
func (b *builder) settleProcess(th *Thread) {
	b.join(th, th.TID)
	th.Process.Uncertain = true
}

// finishProcess adds up a process's threads.
func (b *builder) finishProcess(p *Process) {
	sum, known := Counters{StorageKnown: true}, true
	p.End = p.Start
	for _, th := range p.Threads {
		p.Times.Add(&th.Times)
		p.MaybeRan += th.MaybeRan
		p.FaultEvents += th.FaultEvents
		p.FaultTime += th.FaultTime
		p.Reads.add(&th.Reads)
		p.Reclaims.add(&th.Reclaims)
		p.Syncs.add(&th.Syncs)
		p.Samples += th.Samples
		p.End = max(p.End, th.End)
		if th.Start < p.Start && !p.Existed {
			p.Start = th.Start
		}
		if th.ContinuedAs != nil {
			continue // counted there
		}
		if th.baseKnown && th.lastKnown {
			c := th.last.since(th.base)
			th.Counters = &c
			sum.add(&c)
		} else {
			known = false
		}
	}
	if known && len(p.Threads) > 0 {
		p.Counters = &sum
	}
	if !p.Ended {
		p.Status = nil
	}
	p.Cgroup = b.cgroups[p.CgroupID]
}

// finishUnits groups the processes by unit.
func (b *builder) finishUnits() {
	units := map[string]*Unit{}
	for _, p := range b.tl.Processes {
		name := UnitOf(p.Cgroup)
		if name == "" {
			continue
		}
		u := units[name]
		if u == nil {
			u = &Unit{Name: name}
			units[name] = u
			b.tl.Units = append(b.tl.Units, u)
		}
		p.Unit = u
		u.Processes = append(u.Processes, p)
		u.Times.Add(&p.Times)
		u.Reads.add(&p.Reads)
		u.Reclaims.add(&p.Reclaims)
		u.Syncs.add(&p.Syncs)
	}
	sort.Slice(b.tl.Units, func(i, j int) bool { return b.tl.Units[i].Name < b.tl.Units[j].Name })
}

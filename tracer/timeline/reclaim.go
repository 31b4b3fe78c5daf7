package timeline

import (
	"path"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
)

// Reclaims is how often tasks had to free memory before they could go on, and what came of it.
type Reclaims struct {
	Count  uint64
	Time   uint64 // they stood still
	Freed  uint64 // bytes
	InVain uint64 // how often nothing was freed
}

func (r *Reclaims) add(other *Reclaims) {
	r.Count += other.Count
	r.Time += other.Time
	r.Freed += other.Freed
	r.InVain += other.InVain
}

// MemoryGroup is a cgroup as the memory controller sees it, with a limit or with tasks that had to free
// memory. On a hybrid system its tree is not the one that units are told by, but has the same names.
type MemoryGroup struct {
	Path string // "" if not known
	Unit string // "" if the path doesn't tell
	// Readings are what the memory controller said: at the start, now and then, at the end. There are none
	// without a limit.
	Readings  []event.Memory
	Reclaims             // because of its limit, or that of a group above
	Processes []*Process // in it, and in groups below it that have no limit of their own

	key groupKey
}

// Limit returns what its memory is held below, and whether anything does. high is a limit that slows
// down; max is never exceeded.
func (g *MemoryGroup) Limit() (limit uint64, high, limited bool) {
	if len(g.Readings) == 0 {
		return 0, false, false
	}
	last := &g.Readings[len(g.Readings)-1]
	limit = min(last.High, last.Max)
	return limit, last.High < last.Max, limit != ^uint64(0)
}

// Growth returns by how much counters grew between the first and the last reading: the limits and sizes in
// it mean nothing.
func (g *MemoryGroup) Growth() (d event.Memory) {
	if len(g.Readings) == 0 {
		return d
	}
	a, z := &g.Readings[0], &g.Readings[len(g.Readings)-1]
	since := func(a, z uint64) uint64 { return z - min(a, z) }
	if event.MemoryPhase(a.Phase) != event.MemoryAtStart {
		a = &event.Memory{} // it was made in the recording
	}
	d.Flags = z.Flags
	d.HighEvents, d.MaxEvents, d.OomKills = since(a.HighEvents, z.HighEvents), since(a.MaxEvents, z.MaxEvents), since(a.OomKills, z.OomKills)
	d.FileRefaults, d.AnonRefaults = since(a.FileRefaults, z.FileRefaults), since(a.AnonRefaults, z.AnonRefaults)
	d.PagesScanned, d.PagesReclaimed = since(a.PagesScanned, z.PagesScanned), since(a.PagesReclaimed, z.PagesReclaimed)
	d.MajorFaults, d.Stalled = since(a.MajorFaults, z.MajorFaults), since(a.Stalled, z.Stalled)
	return d
}

// groupKey identifies a cgroup: ids are unique in one hierarchy only.
type groupKey struct {
	hierarchy uint32
	id        uint64
}

func (b *builder) group(key groupKey) *MemoryGroup {
	g := b.groups[key]
	if g == nil {
		g = &MemoryGroup{key: key}
		b.groups[key] = g
		b.tl.Memory = append(b.tl.Memory, g)
	}
	return g
}

func (b *builder) onMemory(e *event.Memory) {
	g := b.group(groupKey{e.Hierarchy, e.Cgroup})
	reading := *e
	reading.SetTail(nil)
	g.Readings = append(g.Readings, reading)
}

// onReclaim takes in the begin or the end of a task's having to free memory.
func (b *builder) onReclaim(th *Thread, e *event.Reclaim) {
	if e.Phase == uint16(event.ReclaimBegin) {
		th.reclaiming, th.reclaimSince = true, b.now
		return
	}
	if !th.reclaiming {
		return // it began before the recording
	}
	th.reclaiming = false
	r := Reclaims{Count: 1, Time: b.now - th.reclaimSince, Freed: e.Pages * b.pageSize}
	if e.Pages == 0 {
		r.InVain = 1
	}
	th.Reclaims.add(&r)
	if e.Kind == uint16(event.ReclaimGlobal) {
		b.tl.Shortage.add(&r)
		return
	}
	key := groupKey{e.Hierarchy, e.Cgroup}
	b.group(key).add(&r)
	if th.Process != nil {
		th.Process.memory = key
	}
}

// finishMemory finds out which processes are held by which limit.
func (b *builder) finishMemory() {
	limited := map[string]*MemoryGroup{}
	hierarchy := uint32(0)
	for _, g := range b.tl.Memory {
		hierarchy = max(hierarchy, g.key.hierarchy)
		g.Path = b.groupPath(g.key)
		g.Unit = UnitOf(g.Path)
		if _, _, ok := g.Limit(); ok && g.Path != "" {
			limited[g.Path] = g
		}
	}
	above := func(p string) *MemoryGroup {
		for ; p != "" && p != "/" && p != "."; p = path.Dir(p) {
			if g := limited[p]; g != nil {
				return g
			}
		}
		return nil
	}
	b.mergeGroups(above)
	for _, p := range b.tl.Processes {
		if g := above(b.memoryPath(p, hierarchy)); g != nil {
			g.Processes = append(g.Processes, p)
			p.Memory = g
		}
	}
}

// mergeGroups adds what was freed in groups without a limit of their own to the one above whose limit it was.
func (b *builder) mergeGroups(above func(string) *MemoryGroup) {
	kept := b.tl.Memory[:0]
	for _, g := range b.tl.Memory {
		if a := above(g.Path); a != nil && a != g {
			a.add(&g.Reclaims)
			continue
		}
		kept = append(kept, g)
	}
	b.tl.Memory = kept
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].Path < kept[j].Path })
}

func (b *builder) groupPath(key groupKey) string {
	if key.hierarchy == 0 {
		return b.cgroups[key.id]
	}
	return b.others[key]
}

// memoryPath returns where a process is in the memory controller's tree: as its reclaims and its moves tell,
// else where it is in the unified one.
func (b *builder) memoryPath(p *Process, hierarchy uint32) string {
	if p.memory.id != 0 {
		return b.groupPath(p.memory)
	}
	if id, ok := p.attached.get(hierarchy); ok && hierarchy != 0 {
		return b.others[groupKey{hierarchy, id}]
	}
	return b.cgroups[p.CgroupID]
}

// attachments are the cgroups that a process was moved to in hierarchies other than the unified one. They
// are few, and shared with children until one moves.
type attachments []groupKey

func (a attachments) get(hierarchy uint32) (id uint64, ok bool) {
	for _, k := range a {
		if k.hierarchy == hierarchy {
			return k.id, true
		}
	}
	return 0, false
}

func (a attachments) with(key groupKey) attachments {
	changed := attachments{key}
	for _, k := range a {
		if k.hierarchy != key.hierarchy {
			changed = append(changed, k)
		}
	}
	return changed
}

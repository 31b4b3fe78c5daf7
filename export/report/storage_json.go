package report

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

type readsJSON struct {
	Read    *uint64 `json:"read_bytes"`
	Reread  *uint64 `json:"reread_bytes"`
	Dropped *uint64 `json:"dropped_bytes"`
	Faulted *uint64 `json:"faulted_bytes"`
	Ahead   *uint64 `json:"ahead_bytes"`
}

func (r *Report) readsOf(x *timeline.Reads) readsJSON {
	on := r.Can.Reads
	return readsJSON{known(x.Bytes, on), known(x.Again, on), known(x.Dropped, on), known(x.Faulted, on), known(x.Ahead, on)}
}

type syncsJSON struct {
	Count *uint64 `json:"syncs"`
	Time  *secs   `json:"sync_s"`
}

func (r *Report) syncsOf(x *timeline.Syncs) syncsJSON {
	return syncsJSON{known(x.Count, r.Can.Syncs), known(secs(x.Time), r.Can.Syncs && r.Can.Syscalls)}
}

type reclaimsJSON struct {
	Reclaims    *uint64 `json:"reclaims"`
	ReclaimTime *secs   `json:"reclaim_s"`
	Freed       *uint64 `json:"freed_bytes"`
	InVain      *uint64 `json:"reclaims_in_vain"`
}

func (r *Report) reclaimsOf(x *timeline.Reclaims) reclaimsJSON {
	on := r.Can.Reclaim
	return reclaimsJSON{known(x.Count, on), known(secs(x.Time), on), known(x.Freed, on), known(x.InVain, on)}
}

type memoryJSON struct {
	Cgroup *string `json:"cgroup"`
	Unit   *string `json:"unit"`
	Max    *uint64 `json:"max_bytes"`
	High   *uint64 `json:"high_bytes"`
	Usage  *uint64 `json:"usage_bytes"`
	Anon   *uint64 `json:"anon_bytes"`
	File   *uint64 `json:"file_bytes"`
	Swap   *uint64 `json:"swap_bytes"`
	reclaimsJSON
	HighEvents   *uint64 `json:"high_events"`
	MaxEvents    *uint64 `json:"max_events"`
	OOMKills     *uint64 `json:"oom_kills"`
	FileRefaults *uint64 `json:"file_refaults"`
	AnonRefaults *uint64 `json:"anon_refaults"`
	MajorFaults  *uint64 `json:"major_faults"`
	Scanned      *uint64 `json:"pages_scanned"`
	Reclaimed    *uint64 `json:"pages_reclaimed"`
	Stalled      *secs   `json:"stalled_s"`
}

func (r *Report) memoryOf(g *timeline.MemoryGroup) memoryJSON {
	j := memoryJSON{Cgroup: named(g.Path), Unit: named(g.Unit), reclaimsJSON: r.reclaimsOf(&g.Reclaims)}
	if len(g.Readings) == 0 {
		return j
	}
	last, grown := g.Readings[len(g.Readings)-1], g.Growth()
	j.Max, j.High = known(last.Max, last.Max != ^uint64(0)), known(last.High, last.High != ^uint64(0))
	j.Usage, j.Anon, j.File, j.Swap = &last.Usage, &last.Anon, &last.File, &last.Swap
	j.HighEvents, j.MaxEvents, j.OOMKills = &grown.HighEvents, &grown.MaxEvents, &grown.OomKills
	j.FileRefaults, j.AnonRefaults, j.MajorFaults = &grown.FileRefaults, &grown.AnonRefaults, &grown.MajorFaults
	scans := grown.Flags&event.MemoryScans != 0
	j.Scanned, j.Reclaimed = known(grown.PagesScanned, scans), known(grown.PagesReclaimed, scans)
	j.Stalled = known(secs(grown.Stalled), grown.Flags&event.MemoryPressure != 0)
	return j
}

// usedFiles returns the files that were opened, the most opened first, then those that were read or synced
// only.
func usedFiles(r *Report) []*timeline.File {
	var list []*timeline.File
	for _, f := range r.Files {
		if f.Opens > 0 || f.Reads.Bytes > 0 || f.Syncs.Count > 0 {
			list = append(list, f)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		return list[i].Opens > list[j].Opens || list[i].Opens == list[j].Opens && list[i].Reads.Bytes > list[j].Reads.Bytes
	})
	return list
}

func (r *Report) fileOf(f *timeline.File) fileJSON {
	dev := fmt.Sprintf("%d:%d", f.Device>>20, f.Device&(1<<20-1))
	identified := f.Inode != 0 || f.BlockDevice
	return fileJSON{
		Path: validUTF8(f.Path), Opens: f.Opens, BlockDevice: f.BlockDevice,
		Dev: known(dev, identified), Inode: known(f.Inode, f.Inode != 0 && !f.BlockDevice),
		readsJSON: r.readsOf(&f.Reads), syncsJSON: r.syncsOf(&f.Syncs),
		MajorFaults: known(f.Faults.Count, r.Can.Reads && r.Can.Faults),
		FaultTime:   known(secs(f.Faults.Time), r.Can.Reads && r.Can.Faults && r.Can.Syscalls),
	}
}

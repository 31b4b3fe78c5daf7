package findings

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

func (c *limitCase) finding() Finding {
	f := Finding{ID: "memory-limit-below-working-set", Title: "memory limit below the working set", Cost: c.lost, Unit: c.Unit}
	if len(c.Processes) == 1 {
		f.PID = c.Processes[0].PID
	}
	f.Evidence = append(f.Evidence, c.limitLine())
	if c.reads.Again > 0 {
		f.Evidence = append(f.Evidence, c.rereadLine())
	}
	if c.swaps() {
		f.Evidence = append(f.Evidence, "what was swapped out came back: "+mebibytes(c.growth.AnonRefaults*c.page))
	}
	f.Evidence = append(f.Evidence, c.reclaimLine(), c.lostLine())
	f.Evidence = append(f.Evidence, c.fileLines()...)
	anon, files := c.workingSet()
	need := max(anon+files, c.limit)
	f.Evidence = append(f.Evidence, fmt.Sprintf("working set, at least: %s (%s allocated by programs, %s of files read again)",
		mebibytes(anon+files), mebibytes(anon), mebibytes(files)))
	f.Remedy = fmt.Sprintf("raise %s to about %d MiB and look again, or make it need less", c.setting(), roundUp(uint64(headroom*float64(need))))
	return f
}

// roundUp rounds bytes to a multiple of 4 MiB, in MiB.
func roundUp(n uint64) uint64 { return (n + 4<<20 - 1) >> 22 << 2 }

// setting is what sets the limit.
func (c *limitCase) setting() string {
	if c.high {
		return "MemoryHigh="
	}
	return "MemoryMax="
}

func (c *limitCase) limitLine() string {
	what, met := "MemoryMax=", c.growth.MaxEvents
	if c.high {
		what, met = "MemoryHigh=", c.growth.HighEvents
	}
	line := fmt.Sprintf("%s has a limit of %s (%s), which it met %s", c.Path, mebibytes(c.limit), what, times(met))
	if c.growth.OomKills > 0 {
		line += fmt.Sprintf("; processes were killed for it %s", times(c.growth.OomKills))
	}
	return line
}

func (c *limitCase) rereadLine() string {
	line := fmt.Sprintf("of %s that it read, it read %s again after that had been evicted", mebibytes(c.reads.Bytes), mebibytes(c.reads.Again))
	if length := float64(c.sum.last-c.sum.first) / 1e9; length > 0 {
		line += fmt.Sprintf(": %.1f MiB/s and %.0f major faults/s from %s to %s", float64(c.reads.Again)/(1<<20)/length,
			float64(c.faults)/length, seconds(c.sum.first), seconds(c.sum.last))
	}
	return line + fmt.Sprintf(" (the kernel counted %s for the cgroup)", mebibytes(c.growth.FileRefaults*c.page))
}

func (c *limitCase) reclaimLine() string {
	line := fmt.Sprintf("its tasks had to free memory %s and got %s", times(c.Count), mebibytes(c.Freed))
	if c.InVain > 0 {
		line += fmt.Sprintf("; %s in vain", times(c.InVain))
	}
	if c.growth.Flags&event.MemoryScans != 0 {
		line += fmt.Sprintf("; %d pages were looked at to free %d", c.growth.PagesScanned, c.growth.PagesReclaimed)
	}
	return line
}

func (c *limitCase) lostLine() string {
	line := fmt.Sprintf("time lost: %s to free memory, and up to %s waiting for what was read again", seconds(c.Reclaims.Time), seconds(c.storage))
	if c.measured {
		line += fmt.Sprintf("; by the kernel's count (pressure), some of them stood still for %s", seconds(c.growth.Stalled))
	}
	return line
}

func (c *limitCase) fileLines() (lines []string) {
	var list []*timeline.File
	for file := range c.sum.files {
		list = append(list, file)
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := c.sum.files[list[i]].bytes, c.sum.files[list[j]].bytes; a != b {
			return a > b
		}
		return list[i].Name() < list[j].Name()
	})
	for i, file := range list {
		if i == namedFiles || 100*c.sum.files[file].bytes < c.reads.Again {
			break
		}
		lines = append(lines, fmt.Sprintf("read again: %s of %s", mebibytes(c.sum.files[file].bytes), file.Name()))
	}
	return lines
}

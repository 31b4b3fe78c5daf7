//go:build linux

package system

import (
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// Memory is the memory controller's tree of cgroups.
type Memory struct {
	root      string // "" if there is none
	hierarchy uint32
	unified   bool // version 2
}

// Memory returns the memory controller's tree.
func (c *Cgroups) Memory() *Memory {
	m := &Memory{}
	switch {
	case c.memory != "":
		m.root, m.hierarchy = c.memory, hierarchyOf(readFile("/proc/cgroups"), "memory")
	case c.mount != "":
		m.root, m.unified = c.mount, true
	}
	return m
}

// Read calls found for every cgroup that has a limit. Looking for a limit costs the reading of one or two
// small files for each cgroup; the long ones are read only where there is one.
func (m *Memory) Read(phase event.MemoryPhase, found func(*event.Memory) error) error {
	if m.root == "" {
		return nil
	}
	return filepath.WalkDir(m.root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || dir == m.root {
			return nil // it went away meanwhile, or is the root, which has no limit
		}
		e := event.New(event.KindMemory).(*event.Memory)
		if m.unified {
			e.Max, e.High = limit(dir+"/memory.max"), limit(dir+"/memory.high")
		} else {
			e.Max, e.High = limit(dir+"/memory.limit_in_bytes"), noLimit
		}
		var s unix.Stat_t
		if e.Max == noLimit && e.High == noLimit || unix.Stat(dir, &s) != nil {
			return nil
		}
		e.Time, e.Cgroup, e.Hierarchy, e.Phase = BootTime(), s.Ino, m.hierarchy, uint32(phase)
		if m.unified {
			readMemory2(dir, e)
		} else {
			readMemory1(dir, e)
		}
		return found(e)
	})
}

const noLimit = math.MaxUint64

// limit reads a limit. Version 1 shows none as the largest number of whole pages, version 2 as "max".
func limit(file string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(readFile(file)), 10, 64)
	if err != nil || n >= 1<<62 {
		return noLimit
	}
	return n
}

func readMemory2(dir string, e *event.Memory) {
	stat, events := keyed(readFile(dir+"/memory.stat")), keyed(readFile(dir+"/memory.events"))
	e.Usage, e.Swap = number(readFile(dir+"/memory.current")), number(readFile(dir+"/memory.swap.current"))
	e.Anon, e.File = stat["anon"], stat["file"]
	e.HighEvents, e.MaxEvents, e.OomKills = events["high"], events["max"], events["oom_kill"]
	e.MajorFaults = stat["pgmajfault"]
	refaults(e, stat, "")
	if scanned, ok := stat["pgscan"]; ok {
		e.PagesScanned, e.PagesReclaimed, e.Flags = scanned, stat["pgsteal"], event.MemoryScans
	}
	if ns, ok := someStalled(readFile(dir + "/memory.pressure")); ok {
		e.Stalled, e.Flags = ns, e.Flags|event.MemoryPressure
	}
}

func readMemory1(dir string, e *event.Memory) {
	stat := keyed(readFile(dir + "/memory.stat"))
	e.Usage, e.Swap = number(readFile(dir+"/memory.usage_in_bytes")), stat["total_swap"]
	e.Anon, e.File = stat["total_rss"], stat["total_cache"]
	e.MaxEvents = number(readFile(dir + "/memory.failcnt"))
	e.OomKills = keyed(readFile(dir + "/memory.oom_control"))["oom_kill"]
	e.MajorFaults = stat["total_pgmajfault"]
	refaults(e, stat, "total_")
}

// refaults takes the counts of pages that came back. Before 5.9 files and programs were counted together.
func refaults(e *event.Memory, stat map[string]uint64, prefix string) {
	if n, ok := stat[prefix+"workingset_refault_file"]; ok {
		e.FileRefaults, e.AnonRefaults = n, stat[prefix+"workingset_refault_anon"]
		return
	}
	e.FileRefaults = stat[prefix+"workingset_refault"]
}

// keyed reads lines of a name and a number.
func keyed(text string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				values[name] = n
			}
		}
	}
	return values
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n
}

// someStalled reads the total, in microseconds, of the line "some avg10=0.00 … total=123".
func someStalled(text string) (ns uint64, ok bool) {
	for line := range strings.Lines(text) {
		_, total, found := strings.Cut(line, "total=")
		if us, err := strconv.ParseUint(strings.TrimSpace(total), 10, 64); found && err == nil && strings.HasPrefix(line, "some ") {
			return us * 1000, true
		}
	}
	return 0, false
}

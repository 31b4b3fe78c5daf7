//go:build linux && kerneltest

package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// The programs that record memory and storage. Syncs and sockets share sys_exit with opens where the kernel
// has nothing better, so that it stands for what all three cost.
var memoryPrograms = []string{
	"page_added", "page_deleted", "memcg_reclaim_begin", "memcg_reclaim_end", "direct_reclaim_begin", "direct_reclaim_end", "fault",
}

// fourPythons starts four programs at once, as a board does.
const fourPythons = `for i in 1 2 3 4; do /usr/bin/python3 -c 'import asyncio, http.server, email.message, sqlite3, decimal' & done; wait`

// memoryCost is what a recording of the four programs cost.
type memoryCost struct {
	runs, time map[string]uint64 // by program of ours
	load       uint64            // CPU time of the four
	read       uint64            // bytes
	// own is which part of the pages that came into memory was theirs: the rest of the machine goes on.
	own float64
}

func (c *memoryCost) sum() (runs, ns uint64) {
	for _, name := range memoryPrograms {
		runs += c.runs[name]
		ns += c.time[name]
	}
	return runs, ns
}

// share is the cost of what the four did, in percent of their CPU time.
func (c *memoryCost) share() float64 {
	_, ns := c.sum()
	return 100 * c.own * float64(ns) / float64(c.load)
}

// measureMemory records the four with the kernel's statistics of BPF programs on all the time.
func measureMemory(t *testing.T, cold bool) *memoryCost {
	t.Helper()
	dir := t.TempDir()
	if cold {
		dropPython(t)
	} else {
		succeed(t, "sh", "-c", fourPythons)
	}
	if r := bootscope(t, dir, nil, "record", "-o", "t.bst", "--", "sh", "-c", fourPythons); r.status != 0 {
		t.Fatalf("record: status %d: %s", r.status, r.stderr)
	}
	f, err := tracefile.Open(filepath.Join(dir, "t.bst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tl, err := timeline.Build(f)
	if err != nil {
		t.Fatal(err)
	}
	c := &memoryCost{runs: map[string]uint64{}, time: map[string]uint64{}}
	for _, p := range tl.Trailer.Programs {
		c.runs[p.Name], c.time[p.Name] = p.Runs, p.RunTime
	}
	ours := map[uint32]bool{}
	for _, p := range tl.Processes {
		if p.Command {
			ours[p.PID] = true
			c.load += p.Times[timeline.Running]
			c.read += p.Reads.Bytes
		}
	}
	c.own = ownPages(t, f, ours)
	return c
}

func ownPages(t *testing.T, f *tracefile.File, ours map[uint32]bool) float64 {
	t.Helper()
	own, all := 0.0, 1.0
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.(*event.Read); ok {
			all += float64(r.Pages)
			if ours[r.PID] {
				own += float64(r.Pages)
			}
		}
	}
	return own / all
}

// dropPython takes Python, and what else nobody uses, out of memory.
func dropPython(t *testing.T) {
	t.Helper()
	for range 3 { // what somebody uses at that moment stays
		write(t, "/proc/sys/vm/drop_caches", "1")
	}
}

// most returns the measurement in which the four read most: what somebody else used at that moment stayed in
// memory.
func most(all []*memoryCost) *memoryCost {
	return slices.MaxFunc(all, func(a, b *memoryCost) int { return cmp.Compare(a.read, b.read) })
}

// middle returns the measurement with the median cost.
func middle(all []*memoryCost) *memoryCost {
	slices.SortFunc(all, func(a, b *memoryCost) int { return cmp.Compare(a.share(), b.share()) })
	return all[len(all)/2]
}

// TestMemoryCost measures what the probes of memory and storage cost while four Python programs start, with
// nothing of them in memory and with everything. With -update it rewrites docs/cost-memory.md.
func TestMemoryCost(t *testing.T) {
	const file = "/proc/sys/kernel/bpf_stats_enabled"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the kernel has no statistics of BPF programs: %v", err)
	}
	write(t, file, "1")
	t.Cleanup(func() { os.WriteFile(file, before, 0o644) })
	var cold, warm []*memoryCost
	for range 5 {
		cold, warm = append(cold, measureMemory(t, true)), append(warm, measureMemory(t, false))
	}
	page := memoryCostPage(most(cold), middle(warm))
	t.Log("\n" + page)
	if c := most(cold); c.read < 4<<20 || c.share() > 5 {
		t.Errorf("cold: %d bytes were read; the probes took %.2f %% of the CPU time", c.read, c.share())
	}
	if w := middle(warm); w.share() > 0.1 {
		t.Errorf("warm: the probes took %.2f %% of the CPU time", w.share())
	}
	if golden.Updating() {
		write(t, "../../docs/cost-memory.md", page)
	}
}

func memoryCostPage(cold, warm *memoryCost) string {
	var b strings.Builder
	kernel, _ := exec.Command("uname", "-srm").Output()
	fmt.Fprintf(&b, `# What recording memory and storage costs

Four Python programs start at once and import asyncio, http.server, email.message, sqlite3 and decimal: cold, with nothing of
them in memory, and warm. The kernel's own statistics of BPF programs were on; about 45 ns of each run are their bookkeeping
and would not be there otherwise. Of five recordings each, the coldest
and the one with the median cost, written by
`+"`go test -tags kerneltest -run TestMemoryCost ./cmd/bootscope -update`"+` (root), on %s:

| program | runs, cold | ms, cold | runs, warm | ms, warm |
|---|---|---|---|---|
`, strings.TrimSpace(string(kernel)))
	row := func(name string, cr, ct, wr, wt uint64) {
		fmt.Fprintf(&b, "| %s | %d | %.2f | %d | %.2f |\n", name, cr, float64(ct)/1e6, wr, float64(wt)/1e6)
	}
	for _, name := range memoryPrograms {
		row(name, cold.runs[name], cold.time[name], warm.runs[name], warm.time[name])
	}
	cr, ct := cold.sum()
	wr, wt := warm.sum()
	row("**all**", cr, ct, wr, wt)
	row("sys_exit (opens, syncs and sockets together)", cold.runs["sys_exit"], cold.time["sys_exit"], warm.runs["sys_exit"], warm.time["sys_exit"])
	fmt.Fprintf(&b, `
The rest of the machine goes on meanwhile: the programs run for it, too. Cold, %.0f %% of all pages that came into memory were
brought by the four; they read %.1f MiB and used %.2f s of CPU time, of which the probes' part for their pages is %.2f %%. Warm, %.1f %%
of the pages were theirs; they read %.1f MiB and used %.2f s, of which the probes' part is %.3f %%: nothing measurable.
`, 100*cold.own, float64(cold.read)/(1<<20), float64(cold.load)/1e9, cold.share(),
		100*warm.own, float64(warm.read)/(1<<20), float64(warm.load)/1e9, warm.share())
	return b.String()
}

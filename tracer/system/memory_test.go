//go:build linux

package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func readMemory(t *testing.T, m Memory) []event.Memory {
	t.Helper()
	var all []event.Memory
	err := m.Read(event.MemoryMeanwhile, func(e *event.Memory) error {
		if e.Time == 0 || e.Cgroup == 0 || e.Phase != uint32(event.MemoryMeanwhile) {
			t.Errorf("read as %+v", e)
		}
		all = append(all, *e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestMemory2(t *testing.T) {
	root := tree(t, map[string]string{
		"memory.max":                    "1000\n", // no root has one, but this would be left out
		"free/memory.max":               "max\n",
		"free/memory.high":              "max\n",
		"x.service/memory.max":          "max\n",
		"x.service/memory.high":         "50331648\n",
		"x.service/memory.current":      "50000000\n",
		"x.service/memory.swap.current": "4096\n",
		"x.service/memory.stat":         "anon 7000\nfile 8000\nworkingset_refault_anon 1\nworkingset_refault_file 42\npgscan 900\npgsteal 300\npgmajfault 5\n",
		"x.service/memory.events":       "low 0\nhigh 77\nmax 3\noom 2\noom_kill 1\n",
		"x.service/memory.pressure":     "some avg10=0.00 avg60=1.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
	})
	all := readMemory(t, Memory{root: root, unified: true})
	if len(all) != 1 {
		t.Fatalf("%d cgroups: %+v", len(all), all)
	}
	e := all[0]
	got := [...]uint64{e.Max, e.High, e.Usage, e.Swap, e.Anon, e.File, e.FileRefaults, e.AnonRefaults, e.PagesScanned, e.PagesReclaimed,
		e.MajorFaults, e.HighEvents, e.MaxEvents, e.OomKills, e.Stalled, uint64(e.Flags), uint64(e.Hierarchy)}
	want := [...]uint64{noLimit, 50331648, 50000000, 4096, 7000, 8000, 42, 1, 900, 300, 5, 77, 3, 1, 1500000,
		event.MemoryScans | event.MemoryPressure, 0}
	if got != want {
		t.Errorf("got  %d\nwant %d", got, want)
	}
}

func TestMemory1(t *testing.T) {
	root := tree(t, map[string]string{
		"memory.limit_in_bytes":      "9223372036854771712\n",
		"free/memory.limit_in_bytes": "9223372036854771712\n",
		"a/b/memory.limit_in_bytes":  "31457280\n",
		"a/b/memory.usage_in_bytes":  "31000000\n",
		"a/b/memory.failcnt":         "12\n",
		"a/b/memory.oom_control":     "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
		"a/b/memory.stat": "cache 1\nrss 1\ntotal_cache 8000\ntotal_rss 7000\ntotal_swap 6\nworkingset_refault_file 1\n" +
			"total_workingset_refault_file 42\ntotal_workingset_refault_anon 3\ntotal_pgmajfault 5\n",
	})
	all := readMemory(t, Memory{root: root, hierarchy: 4})
	if len(all) != 1 {
		t.Fatalf("%d cgroups: %+v", len(all), all)
	}
	e := all[0]
	got := [...]uint64{e.Max, e.High, e.Usage, e.Swap, e.Anon, e.File, e.FileRefaults, e.AnonRefaults, e.MajorFaults, e.MaxEvents,
		e.OomKills, uint64(e.Flags), uint64(e.Hierarchy)}
	want := [...]uint64{31457280, noLimit, 31000000, 6, 7000, 8000, 42, 3, 5, 12, 2, 0, 4}
	if got != want {
		t.Errorf("got  %d\nwant %d", got, want)
	}
}

// Before 5.9 refaults were counted together, and there was no pressure file before 4.20.
func TestMemoryOfOlderKernels(t *testing.T) {
	root := tree(t, map[string]string{"x/memory.max": "1000\n", "x/memory.stat": "anon 1\nworkingset_refault 9\n"})
	all := readMemory(t, Memory{root: root, unified: true})
	if len(all) != 1 || all[0].FileRefaults != 9 || all[0].Flags != 0 || all[0].High != noLimit {
		t.Errorf("got %+v", all)
	}
}

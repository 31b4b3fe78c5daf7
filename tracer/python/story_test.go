package python

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// open parses testdata/NAME.trace and returns its interpreters.
func interpretersOf(t testing.TB, name string) []*Interpreter {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := tracefile.ParseText(name, f)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector()
	if _, err := timeline.Build(src, c); err != nil {
		t.Fatal(err)
	}
	return c.Interpreters()
}

// treesOf writes interpreters as trees: the module, when it began, its cumulative and its self time.
func treesOf(interpreters []*Interpreter) string {
	var b strings.Builder
	for _, in := range interpreters {
		fmt.Fprintf(&b, "%s of pid %d, confidence %s\n", filepath.Base(in.Exe), in.Process.PID, in.Calibration.Confidence())
		for _, m := range in.Roots {
			treeOf(&b, m, 1)
		}
	}
	return b.String()
}

func treeOf(b *strings.Builder, m *Module, depth int) {
	note := ""
	if m.Again {
		note = " again"
	}
	fmt.Fprintf(b, "%s%s%s, %.1f ms, self %.1f ms\n", strings.Repeat("  ", depth), m.Name, note,
		float64(m.Total.Sum())/1e6, float64(m.Self.Sum())/1e6)
	for _, child := range m.Children {
		treeOf(b, child, depth+1)
	}
}

// selfError is how much the self time may differ of a module that takes 100 ms and more itself: of one whose
// code goes on after its last import, too.
const selfError = 0.15

// TestStories rebuilds the trees of recordings of small programs, each of which does one thing that makes
// imports hard to follow; the .story says which. The .importtime is what the same run wrote itself: it
// must say the same. make kerneltest records them anew, on this machine; with -update it rewrites the traces.
func TestStories(t *testing.T) {
	traces, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(traces) == 0 {
		t.Fatalf("no traces in testdata: %v", err)
	}
	for _, file := range traces {
		name := strings.TrimSuffix(filepath.Base(file), ".trace")
		t.Run(name, func(t *testing.T) {
			interpreters := interpretersOf(t, name)
			golden.Check(t, name+".tree", treesOf(interpreters))
			for _, in := range interpreters {
				checkSums(t, in)
			}
			log, err := os.Open(filepath.Join("testdata", name+".importtime"))
			if err != nil {
				return // made by hand
			}
			defer log.Close()
			entries, err := ParseImportTime(log)
			if err != nil {
				t.Fatal(err)
			}
			a := Compare(interpreters[0], entries)
			if a.Matched == 0 {
				t.Error("no import is in both the trace and the log")
			}
			for _, p := range a.Times {
				if d := abs(int64(p.Self - p.LogSelf)); p.LogSelf >= 100e6 && float64(d) > selfError*float64(p.LogSelf) {
					t.Errorf("%s: %d ms itself in the log, %d ms here", p.Module, p.LogSelf/1e6, p.Self/1e6)
				}
			}
			known := knownToDiffer(t, name)
			for _, d := range a.Differ {
				if known["*"] || known[d.Module] {
					continue
				}
				t.Errorf("%s: asked for by %q in the log, by %q here", d.Module, d.InLog, d.InRecording)
			}
		})
	}
}

// knownToDiffer are the modules that a story's last part lists.
func knownToDiffer(t *testing.T, name string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".story"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n-- differs --\n")
	known := map[string]bool{}
	for _, m := range strings.Fields(list) {
		known[m] = true
	}
	return known
}

// checkSums fails unless times add up: each module's with its children's, and no thread's imports take
// longer than it lived.
func checkSums(t *testing.T, in *Interpreter) {
	t.Helper()
	var all timeline.Times
	for _, m := range in.Modules {
		all.Add(&m.Self)
		sum := m.Self
		for _, c := range m.Children {
			sum.Add(&c.Total)
		}
		if sum != m.Total {
			t.Errorf("%s: self and children are %v, cumulative is %v", m.Name, sum, m.Total)
		}
		if m.End < m.Start {
			t.Errorf("%s ends at %d before it begins at %d", m.Name, m.End, m.Start)
		}
	}
	var roots timeline.Times
	for _, m := range in.Roots {
		roots.Add(&m.Total)
	}
	if roots != all {
		t.Errorf("pid %d: the roots take %v, all modules %v", in.Process.PID, roots, all)
	}
	if all.Sum() > in.Process.Times.Sum() {
		t.Errorf("pid %d: imports take %d ns, the process %d", in.Process.PID, all.Sum(), in.Process.Times.Sum())
	}
}

func TestSince(t *testing.T) {
	earlier := timeline.Times{timeline.Runnable: 30, timeline.Running: 10}
	later := timeline.Times{timeline.Running: 60} // it was not runnable, but running
	if got, want := since(&later, &earlier), (timeline.Times{timeline.Running: 20}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

package python

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseImportTime(t *testing.T) {
	log := `import time: self [us] | cumulative | imported package
import time:       100 |        100 |     leaf
a program's own output
import time:        50 |        150 |   middle
import time:         7 |          7 |   other
import time:        10 |        167 | top
import time:         3 |          3 | next
`
	entries, err := ParseImportTime(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		parent := "-"
		if e.Parent != nil {
			parent = e.Parent.Name
		}
		got = append(got, e.Name+"<"+parent)
	}
	if want := "leaf<middle middle<top other<top top<- next<-"; strings.Join(got, " ") != want {
		t.Errorf("got %s", got)
	}
	if e := entries[3]; e.Self != 10_000 || e.Cumulative != 167_000 {
		t.Errorf("times %d and %d ns", e.Self, e.Cumulative)
	}
	if _, err := ParseImportTime(strings.NewReader("import time: 99999999999999999999 | 1 | m\n")); err == nil {
		t.Error("a number that is too large is taken")
	}
}

// An attempt that found no file comes before the one that did; a package that imports the submodule on whose
// behalf it is imported makes that appear twice.
func TestMatchUp(t *testing.T) {
	in := &Interpreter{Modules: []*Module{{Name: "pkg"}, {Name: "pkg.sub"}, {Name: "again"}}}
	log := `import time: 1 | 1 | again
import time: 1 | 1 |     pkg.sub
import time: 1 | 2 |   pkg
import time: 1 | 3 | pkg.sub
import time: 1 | 1 | again
`
	entries, err := ParseImportTime(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	matchUp(in, entries)
	var got []bool
	for _, e := range entries {
		got = append(got, e.module != nil)
	}
	want := []bool{false, true, true, false, true}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("matched %v, want %v", got, want)
			break
		}
	}
}

func TestTimeErrors(t *testing.T) {
	pairs := []TimePair{{LogCumulative: 100, Cumulative: 110}, {LogCumulative: 100, Cumulative: 99}, {LogCumulative: 10, Cumulative: 99}}
	n, median, p95 := TimeErrors(pairs, 50)
	if n != 2 || median < 0.099 || median > 0.101 || p95 != median {
		t.Errorf("%d times, median %f, 95th percentile %f", n, median, p95)
	}
}

func FuzzParseImportTime(f *testing.F) {
	logs, _ := filepath.Glob("testdata/*.importtime")
	for _, name := range logs {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := ParseImportTime(bytes.NewReader(text))
		if err != nil {
			return
		}
		in := &Interpreter{Modules: []*Module{{Name: "a"}, {Name: "b", Parent: &Module{Name: "a"}}}}
		a := Compare(in, entries)
		if a.SameParent+len(a.Differ) != a.Matched || a.Matched > a.Entries {
			t.Errorf("%d and %d of %d of %d", a.SameParent, len(a.Differ), a.Matched, a.Entries)
		}
	})
}

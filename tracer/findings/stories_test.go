package findings

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Each trace tells a story (its first line says which); what is found in it is in the golden file, as
// report --top 0 shows it.
func TestStories(t *testing.T) {
	traces, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(traces) == 0 {
		t.Fatalf("no traces in testdata: %v", err)
	}
	for _, file := range traces {
		name := strings.TrimSuffix(filepath.Base(file), ".trace")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "report."+name+".top.0.findings.txt", show(findAll(t, string(text))))
		})
	}
}

func findAll(t *testing.T, text string) []Finding {
	t.Helper()
	src, err := tracefile.ParseText(t.Name(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := New(src.Header().Start)
	tl, err := timeline.Build(src, all.Sinks()...)
	if err != nil {
		t.Fatal(err)
	}
	return all.Find(&Recording{Timeline: tl})
}

func show(found []Finding) []byte {
	var b bytes.Buffer
	for _, f := range found {
		fmt.Fprintf(&b, "%s: %s, at most %s, unit %q, pid %d\n", f.ID, f.Title, seconds(f.Cost), f.Unit, f.PID)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e)
		}
		fmt.Fprintf(&b, "  Remedy: %s.\n", f.Remedy)
	}
	if len(found) == 0 {
		b.WriteString("nothing\n")
	}
	return b.Bytes()
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// idleTraces makes a directory with a trace of an idle machine, and with one of another kind.
func idleTraces(t *testing.T) string {
	t.Helper()
	dir := traces(t)
	const file = "../../export/idle/testdata/board.trace"
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	source, err := tracefile.ParseText(file, f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tracefile.WriteBinary(&b, source); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "idle.bst"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestIdleOutput(t *testing.T) {
	dir := idleTraces(t)
	for _, line := range []string{
		"idle --help",
		"idle idle.bst",
		"idle --top 2 --by unit idle.bst",
		"idle --json idle.bst",
	} {
		t.Run(line, func(t *testing.T) {
			r := bootscope(t, dir, nil, strings.Fields(line)...)
			if r.status != 0 || r.stderr != "" {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
			golden.Check(t, goldenName(line), r.stdout)
			for _, text := range strings.Split(r.stdout, "\n") {
				if !strings.Contains(line, "--json") && len(text) > 80 {
					t.Errorf("over 80 columns: %s", text)
				}
			}
		})
	}
	r := bootscope(t, dir, nil, "idle", "story.bst")
	if want := "bootscope: story.bst was not recorded by idle: what woke whom is not in it\n"; r.status != 0 || r.stderr != want {
		t.Errorf("status %d, stderr %q, want %q", r.status, r.stderr, want)
	}
}

func TestIdleErrors(t *testing.T) {
	dir := idleTraces(t)
	for _, tt := range []struct {
		line   string
		status int
		stderr string
	}{
		{"idle a b", 2, "bootscope: accepts at most 1 arg(s), received 2\n"},
		{"idle --by process", 2, `bootscope: --by "process": give task or unit`},
		{"idle --top -1", 2, "bootscope: --top -1: give a number of rows, or 0 for all"},
		{"idle --duration 0s", 2, "bootscope: --duration 0s: give a time such as 30s"},
		{"idle --interval 10ms", 2, "bootscope: --interval 10ms: give at least 1s"},
		{"idle --interval 5s --compare-governors a,b", 2, "bootscope: --interval and --compare-governors: give one of them"},
		{"idle -o x.bst --compare-governors a,b", 2, "bootscope: --output and --compare-governors: one trace can't hold several recordings"},
		{"idle --compare-governors ../x", 2, `bootscope: --compare-governors: governor 1 is "../x"`},
		{"idle --settle idle.bst", 2, "bootscope: idle.bst is a recording already: only --json, --top and --by go with it"},
		{"idle missing.bst", 1, "bootscope: open missing.bst: no such file or directory\n"},
		{"idle foreign.bst", 1, "bootscope: foreign.bst is not a bootscope trace"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			r := bootscope(t, dir, nil, strings.Fields(tt.line)...)
			if r.status != tt.status || !strings.HasPrefix(r.stderr, tt.stderr) || r.stdout != "" {
				t.Errorf("got %+v, want status %d and %q", r, tt.status, tt.stderr)
			}
		})
	}
}

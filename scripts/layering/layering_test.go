package layering_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/scripts/layering"
)

const module = "github.com/bootscope/bootscope"

const (
	golden   = "internal/golden" // for tests only
	ebpf     = "github.com/cilium/ebpf"
	compress = "github.com/klauspost/compress"
	xsys     = "golang.org/x/sys"
	cmp      = "github.com/google/go-cmp"
	protobuf = "google.golang.org/protobuf"
	dbus     = "github.com/godbus/dbus"
	pprof    = "github.com/google/pprof"
)

// The table: cmd -> export -> findings -> python -> timeline -> tracefile -> event, and
// cmd -> record -> {bpf, system, tracefile}. What analyses a trace never imports bpf, record, system
// or the eBPF library, so it builds where there is no BPF. Tests of what records may analyse.
var rules = []layering.Rule{
	{Dir: golden},
	{Dir: "tracer/event"},
	{Dir: "tracer/tracefile", May: []string{"tracer/event", compress, xsys}, Tests: []string{golden}},
	{Dir: "tracer/timeline", May: []string{"tracer/tracefile", "tracer/event", "tracer/milestone"}},
	{Dir: "tracer/python", May: []string{"tracer/timeline", "tracer/tracefile", "tracer/event"}, Tests: []string{golden}},
	{Dir: "tracer/findings", May: []string{"tracer/python", "tracer/timeline", "tracer/tracefile", "tracer/event"},
		Tests: []string{golden}},
	{Dir: "export", May: []string{"tracer/findings", "tracer/python", "tracer/timeline", "tracer/tracefile", "tracer/event", "tracer/milestone", pprof, protobuf},
		Tests: []string{golden}},

	{Dir: "bpf", May: []string{ebpf}, Tests: []string{"tracer/event"}},
	{Dir: "tracer/milestone"},
	{Dir: "tracer/system", May: []string{"tracer/tracefile", "tracer/event", xsys, dbus}},
	{Dir: "tracer/bootunit", May: []string{"tracer/tracefile", xsys}},
	{Dir: "tracer/bootinit", May: []string{xsys}},
	{Dir: "tracer/record", May: []string{"bpf", "tracer/bootunit", "tracer/milestone", "tracer/system", "tracer/tracefile", "tracer/event", ebpf, xsys},
		Tests: []string{"tracer/timeline"}},

	{Dir: "cmd", May: []string{"export", "tracer", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", xsys}, Tests: []string{pprof, golden}},
	{Dir: "scripts/bench", May: []string{"tracer/record", "tracer/tracefile", "tracer/event", ebpf, xsys}},
	{Dir: "scripts/vmtest", May: []string{"tracer/timeline", "tracer/tracefile", "tracer/event", xsys},
		Tests: []string{"tracer/record", "tracer/python", "export/report", "tracer/findings", cmp, golden}},
	{Dir: "scripts", May: []string{"tracer/timeline", "tracer/tracefile", "tracer/event", xsys},
		Tests: []string{"export/report", "tracer/findings", cmp}},
}

func TestTree(t *testing.T) {
	violations, err := layering.Check("../..", module, rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// TestCheck breaks the rules in a tree of its own, so that the checker is known to notice.
func TestCheck(t *testing.T) {
	tests := []struct {
		name, file, source string
		want               string // part of the message; "" for what is allowed
	}{
		{"down", "export/chrome.go", `import "` + module + `/tracer/timeline"`, ""},
		{"own subfolder", "export/report/report.go", `import "` + module + `/export"`, ""},
		{"standard library", "tracer/event/event.go", `import "encoding/binary"`, ""},
		{"up", "tracer/timeline/x.go", `import "` + module + `/export"`,
			`tracer/timeline/x.go:2:8 imports "` + module + `/export": tracer/timeline may import`},
		{"recording from analysis", "export/perf.go", `import "` + module + `/tracer/record"`, "export may import"},
		{"eBPF from analysis", "tracer/findings/x.go", `import "github.com/cilium/ebpf/btf"`, "tracer/findings may import"},
		{"another module from events", "tracer/event/x.go", `import "golang.org/x/sys/unix"`, "tracer/event may import"},
		{"a name that only begins alike", "tracer/tracefile/x.go", `import "` + module + `/tracer/eventual"`, "tracer/tracefile may import"},
		{"a file for another system", "tracer/timeline/x_windows.go", `import "` + module + `/bpf"`, "x_windows.go:2:8"},
		{"a file behind a tag", "tracer/timeline/y.go", "//go:build never\npackage x\nimport _ \"" + module + `/bpf"`, "y.go:3:8"},
		{"analysis in a recorder's test", "tracer/record/record_test.go", `import "` + module + `/tracer/timeline"`, ""},
		{"analysis in the recorder", "tracer/record/record.go", `import "` + module + `/tracer/timeline"`, "tracer/record may import"},
		{"a folder without a rule", "newcomer/x.go", ``, "newcomer/x.go: its folder has no rule"},
		{"test data", "export/testdata/x.go", `import "` + module + `/bpf"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, filepath.FromSlash(tt.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			source := tt.source
			if !strings.Contains(source, "package") {
				source = "package x\n" + source
			}
			if err := os.WriteFile(file, []byte(source+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			violations, err := layering.Check(root, module, rules)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tt.want == "" && len(violations) > 0:
				t.Errorf("allowed import was refused: %v", violations)
			case tt.want != "" && (len(violations) != 1 || !strings.Contains(violations[0].String(), tt.want)):
				t.Errorf("got %v, want one violation with %q", violations, tt.want)
			}
		})
	}
}

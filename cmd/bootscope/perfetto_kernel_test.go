//go:build linux && kerneltest

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bootscope/bootscope/export/perfettotest"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// TestExportPerfettoOfThisMachine records a real start-up, exports it, and lets protoc read that back: it
// must have every event of the recording.
func TestExportPerfettoOfThisMachine(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed (package protobuf-compiler)")
	}
	dir := t.TempDir()
	load := `for i in 1 2 3 4 5; do (python3 -c "import threading, json, email.message
t = threading.Thread(target=lambda: sum(range(10**6))); t.start(); t.join()" & sync; wait); done`
	for _, args := range [][]string{
		{"record", "-o", "t.bst", "--", "sh", "-c", load},
		{"export", "t.bst", "--format", "perfetto"},
		{"export", "t.bst", "--format", "chrome"},
	} {
		if r := bootscope(t, dir, nil, args...); r.status != 0 {
			t.Fatalf("%q: %+v", args, r)
		}
	}
	source, err := tracefile.Open(filepath.Join(dir, "t.bst"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	got, err := os.ReadFile(filepath.Join(dir, "t.pftrace"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := perfettotest.Decode(protoc, got)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := perfettotest.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	differences, err := perfettotest.Compare(source, trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Error(d)
	}
	if len(trace.Switches) < 1000 || len(trace.Wakings) < 500 || len(trace.Events) < 1000 {
		t.Errorf("only %d switches, %d wakings and %d events", len(trace.Switches), len(trace.Wakings), len(trace.Events))
	}
	chrome, err := os.Stat(filepath.Join(dir, "t.chrome.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d switches, %d wakings, %d events of tracks: %d bytes, %.1f %% of the JSON's", len(trace.Switches),
		len(trace.Wakings), len(trace.Events), len(got), 100*float64(len(got))/float64(chrome.Size()))
}

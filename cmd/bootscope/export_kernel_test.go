//go:build linux && kerneltest

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// TestExportChromeOfThisMachine lets JavaScript add up a recording: it must have the states, the CPUs and the
// opens that the timeline has, to the nanosecond.
func TestExportChromeOfThisMachine(t *testing.T) {
	dir := t.TempDir()
	tl := recordNativeLoad(t, dir, "chrome")
	script, err := filepath.Abs("../../export/testdata/chrome_totals.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed (package nodejs)")
	}
	out, err := exec.Command("node", script, filepath.Join(dir, "chrome")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		States map[string]uint64
		CPU    uint64 `json:"cpu_ns"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	var want timeline.Times
	for _, p := range tl.Processes {
		want.Add(&p.Times)
	}
	for name, state := range map[string]timeline.State{"Running": timeline.Running, "R": timeline.Runnable,
		"D io": timeline.IOWait, "D": timeline.Blocked, "S": timeline.Sleeping} {
		if got.States[name] != want[state] {
			t.Errorf("node adds up %d ns of %s, the timeline has %d", got.States[name], state, want[state])
		}
	}
	if got.CPU != want[timeline.Running] {
		t.Errorf("the CPUs' tracks add up to %d ns, the timeline has %d", got.CPU, want[timeline.Running])
	}
	t.Logf("%s", out)
}

// TestExportSizes compares estimates with the sizes of a recording's exports.
func TestExportSizes(t *testing.T) {
	dir := t.TempDir()
	recordNativeLoad(t, dir, export.Names()...)
	source, err := tracefile.Open(filepath.Join(dir, "t.bst"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	counts, err := export.Count(source)
	if err != nil {
		t.Fatal(err)
	}
	for i := range export.Formats {
		format := &export.Formats[i]
		info, err := os.Stat(filepath.Join(dir, format.Name))
		if err != nil {
			t.Fatal(err)
		}
		got, want := format.Estimate(counts, export.Options{}), info.Size()
		if want > 1e6 && (got < want/2 || got > want*2) {
			t.Errorf("%s: %d bytes were estimated, %d come out", format.Name, got, want)
		}
		t.Logf("%s: %d bytes, %d were estimated", format.Name, want, got)
	}
}

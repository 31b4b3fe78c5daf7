//go:build kerneltest

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/record"
)

// check tells of every probe, and that sched and opens can be recorded at all: nothing works without.
func TestCheckTellsOfEveryProbe(t *testing.T) {
	for _, args := range [][]string{{"check", "--json"}, {"check", "--json", "--no-btf"}} {
		var stdout, stderr bytes.Buffer
		if status := run(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, &stderr)
		}
		var document struct {
			Schema string
			Probes []struct {
				Name, Status string
				Via          *string
				Config       []string
			}
		}
		if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if document.Schema != "bootscope.check/1" {
			t.Errorf("%v: schema %q", args, document.Schema)
		}
		var names []string
		for _, p := range document.Probes {
			names = append(names, p.Name)
			if (p.Via == nil) != (p.Status == "off") {
				t.Errorf("%v: probe %s is %s, via %v", args, p.Name, p.Status, p.Via)
			}
			if p.Config == nil {
				t.Errorf("%v: probe %s: config is null", args, p.Name)
			}
			if p.Status == "off" && slices.Contains([]string{"sched", "process", "open", "fault", "sample"}, p.Name) {
				t.Errorf("%v: probe %s is off", args, p.Name)
			}
		}
		if want := record.ProbeNames(); !slices.Equal(names, want) {
			t.Errorf("%v: probes %v, want %v", args, names, want)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func TestMomentOf(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
		bad  bool
	}{
		{"", 0, false}, {"12.5", 12_500_000_000, false}, {"+2", 7_000_000_000, false}, {"0.000000001", 1, false},
		{"-1", 0, true}, {"++1", 0, true}, {"1s", 0, true}, {"nan", 0, true}, {"1e300", 0, true},
	} {
		got, err := momentOf(tt.text, 5e9)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%q: got %d, %v", tt.text, got, err)
		}
	}
}

// TestExportPart writes a part of a trace in every format: what is shown of it is in the part.
func TestExportPart(t *testing.T) {
	dir := traces(t)
	for _, format := range export.Names() {
		r := bootscope(t, dir, nil, "export", "story.bst", "-f", format, "-o", format, "--from", "+0.005", "--to", "10.008", "--unit", "daemon.service")
		if r != (result{}) {
			t.Errorf("%s: %+v", format, r)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "chrome"))
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Phase string  `json:"ph"`
		Time  float64 `json:"ts"`
		Name  string
	}
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Phase != "M" && (e.Time < 10_005_000 || e.Time > 10_008_000) || strings.Contains(e.Name, "kworker") {
			t.Errorf("%+v is not in the part", e)
		}
	}
}

// repeated is a source with each event 40,000 times.
type repeated struct{ tracefile.Source }

func (r repeated) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range r.Source.Events() {
			for range 40_000 {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// TestExportLarge warns before the output is written, with a remedy.
func TestExportLarge(t *testing.T) {
	source := repeated{parse(t, "../../testdata/story.txt")}
	o := exportFlags{out: "t.chrome.json"}
	format, _ := export.Find("chrome")
	var b bytes.Buffer
	if err := o.warnLarge(&b, source, format); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bootscope: t.chrome.json will have about ", " MB: ", "--from", "--process", "--format perfetto (about "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
}

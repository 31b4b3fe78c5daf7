//go:build browsertest

package export

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestChromeViewer lets Chromium's trace viewer load traces, in Chromium. Debian builds Chromium without
// the page chrome://tracing, but Go's own tool for traces brings the same viewer along.
func TestChromeViewer(t *testing.T) {
	b := startBrowser(t)
	for _, tt := range []struct {
		file, screenshot string
		options          Options
	}{
		{storyFile, "", Options{}},
		{storyFile, "", Options{Compat: true, Flows: true}},
		{"report/testdata/hostile.trace", "", Options{}},
		{"report/testdata/losses.trace", "", Options{}},
		{"report/testdata/incomplete.trace", "", Options{}},
		{"report/testdata/pid-reuse.trace", "", Options{}},
		{"report/testdata/boot.trace", "chrome-viewer.png", Options{}},
		{"../tracer/python/testdata/behalf.trace", "chrome-viewer-compat.png", Options{Compat: true, Flows: true}},
	} {
		t.Run(fmt.Sprintf("%s %+v", filepath.Base(tt.file), tt.options), func(t *testing.T) {
			json := chromeWith(t, parseFile(t, tt.file), tt.options)
			got := b.view(t, json)
			if want := modelOf(decodeChrome(t, json)); got != want {
				t.Errorf("the viewer has %+v, want %+v", got, want)
			}
			if tt.screenshot != "" {
				b.screenshot(t, tt.screenshot)
			}
		})
	}
}

// TestChromeViewerMany loads a large trace.
func TestChromeViewerMany(t *testing.T) {
	b := startBrowser(t)
	json := chromeWith(t, switches(50_000), Options{})
	begin := time.Now()
	if got, want := b.view(t, json), modelOf(decodeChrome(t, json)); got != want {
		t.Errorf("the viewer has %+v, want %+v", got, want)
	}
	t.Logf("the viewer loads %.1f MB in %.1f s", float64(len(json))/1e6, time.Since(begin).Seconds())
}

// viewerModel is what the viewer makes of a trace.
type viewerModel struct {
	Processes, Threads, Slices, CPUSlices, Flows, Unfinished, Counters int
	Problem                                                            string
}

// modelOf says what it should make of it. An instant on a thread's track counts as a slice.
func modelOf(events []chromeEvent) (m viewerModel) {
	processes, threads, counters := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range events {
		processes[e.PID.String()] = true
		switch e.Phase {
		case "B", "i":
			m.Slices++
			threads[e.PID.String()+"/"+e.TID.String()] = true // it drops those that have none
			if e.PID.String() == fmt.Sprint(cpuGroupID) {
				m.CPUSlices++
			}
		case "f":
			m.Flows++
		case "C":
			counters[e.Name] = true
		}
	}
	m.Processes, m.Threads, m.Counters = len(processes), len(threads), len(counters)
	return m
}

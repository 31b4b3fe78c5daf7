package export

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/export/perfettotest"
	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func perfetto(t testing.TB, source tracefile.Source) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writePerfetto(&b, source); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func protoc(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed (package protobuf-compiler)")
	}
	return path
}

// reread exports a source, lets protoc decode that, and compares it with the source.
func reread(t testing.TB, source tracefile.Source) *perfettotest.Trace {
	t.Helper()
	text, err := perfettotest.Decode(protoc(t), perfetto(t, source))
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
	return trace
}

// traces returns the text traces that tell stories, some of them real recordings.
func traces(t testing.TB) []string {
	t.Helper()
	files := []string{storyFile}
	for _, pattern := range []string{"../testdata/traces/*.txt", "testdata/*.trace", "report/testdata/*.trace", "../tracer/python/testdata/*.trace"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

func parseFile(t testing.TB, file string) *tracefile.Text {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, file, string(text))
}

func TestPerfettoStories(t *testing.T) {
	for _, file := range traces(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { reread(t, parseFile(t, file)) })
	}
}

func TestPerfettoGolden(t *testing.T) {
	got, err := perfettotest.Decode(protoc(t), perfetto(t, story(t)))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "export_story_format_perfetto.golden", got)
}

func TestPerfettoWriteError(t *testing.T) {
	for _, after := range []int{0, 100 << 10} {
		full := errors.New("no space left on device")
		err := writePerfetto(&limitedWriter{left: after, err: full}, switches(100_000))
		if !errors.Is(err, full) {
			t.Errorf("room for %d bytes: got error %v, want %v", after, err, full)
		}
	}
}

// TestPerfettoManyCPUs is about a number at which Perfetto would refuse the whole trace.
func TestPerfettoManyCPUs(t *testing.T) {
	const event = "1.5 [%d] 1 switch next=2 state=sleeping\n"
	if err := writePerfetto(&bytes.Buffer{}, parse(t, "1023", fmt.Sprintf(event, 1023))); err != nil {
		t.Error(err)
	}
	err := writePerfetto(&bytes.Buffer{}, parse(t, "1024", fmt.Sprintf(event, 1024)))
	if err == nil || !strings.Contains(err.Error(), "CPU 1024") {
		t.Errorf("got error %v", err)
	}
}

// TestPerfettoMemory compares the peak for few and for many context switches.
func TestPerfettoMemory(t *testing.T) {
	peak := func(n int) uint64 {
		w := &heapWatcher{}
		if err := writePerfetto(w, switches(n)); err != nil {
			t.Fatal(err)
		}
		return w.peak
	}
	few, many := peak(400_000), peak(2_000_000)
	if many > few+1<<20 {
		t.Errorf("heap of %d bytes for 400,000 switches, %d for 2,000,000: it grows with their number", few, many)
	}
}

func BenchmarkPerfettoSwitches(b *testing.B) {
	const n = 1_000_000
	w := &limitedWriter{left: 1 << 60}
	for b.Loop() {
		if err := writePerfetto(w, switches(n)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(1<<60-w.left)/float64(b.N)/n, "bytes/event")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/1M-events")
}

package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const storyFile = "../testdata/story.txt"

func parse(t testing.TB, name, text string) *tracefile.Text {
	t.Helper()
	source, err := tracefile.ParseText(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func story(t testing.TB) *tracefile.Text {
	t.Helper()
	text, err := os.ReadFile(storyFile)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, storyFile, string(text))
}

func chrome(t testing.TB, source tracefile.Source) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeChrome(&b, source, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestChromeGolden(t *testing.T) {
	got := chrome(t, story(t))
	if err := checkChrome(got); err != nil {
		t.Error(err)
	}
	golden.Check(t, "export_story_format_chrome.golden", got)
}

// TestChromeCut cuts the output at each line: it must be whole again with a bracket, which is what
// viewers assume.
func TestChromeCut(t *testing.T) {
	lines := bytes.SplitAfter(chrome(t, story(t)), []byte(",\n"))
	for i := range lines[1:] {
		cut := append(bytes.TrimSuffix(bytes.Join(lines[:i+1], nil), []byte(",\n")), ']')
		if !json.Valid(cut) {
			t.Fatalf("cut after %d events it is no JSON", i+1)
		}
	}
}

// TestChromeLongUptime is about a machine that has been up for a year: its nanoseconds from boot don't
// fit a JavaScript number.
func TestChromeLongUptime(t *testing.T) {
	const year = 31_536_000
	text := fmt.Sprintf(`header {"start_ns":%d000000001}
%d.000000002 [000] 1 switch next=2 state=sleeping
%d.000000009 [000] 2 switch next=0 state=sleeping
trailer {"end_ns":%d000000010}
`, year, year, year, year)
	got := string(chrome(t, parse(t, "year", text)))
	for _, want := range []string{`"ts":0.001,"dur":0.007,"name":"Running"`, `"ts":0.008,"args":{}`, `"time_0_is_ns_from_boot":"31536000000000001"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestChromeWriteError(t *testing.T) {
	for _, after := range []int{0, 100 << 10} {
		full := errors.New("no space left on device")
		err := writeChrome(&limitedWriter{left: after, err: full}, switches(100_000), Options{})
		if !errors.Is(err, full) {
			t.Errorf("room for %d bytes: got error %v, want %v", after, err, full)
		}
	}
}

// TestChromeMemory compares the peak for few and for many context switches.
func TestChromeMemory(t *testing.T) {
	peak := func(n int) uint64 {
		w := &heapWatcher{}
		if err := writeChrome(w, switches(n), Options{}); err != nil {
			t.Fatal(err)
		}
		return w.peak
	}
	few, many := peak(20_000), peak(400_000)
	if many > few+1<<20 {
		t.Errorf("heap of %d bytes for 20,000 switches, %d for 400,000: it grows with their number", few, many)
	}
}

func FuzzChrome(f *testing.F) {
	text, err := os.ReadFile(storyFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("1.5 [000] 1 switch next=2\n1.4 [001] 1 switch next=2\n")
	f.Add("1.5 [009] 4294967295 fork child_tid=0 child_pid=4294967295\n1.6 [000] 0 exec old_tid=7\n")
	f.Fuzz(func(t *testing.T, text string) {
		source, err := tracefile.ParseText("fuzz", strings.NewReader(text))
		if err != nil {
			t.Skip()
		}
		for _, options := range []Options{{}, {Compat: true, Flows: true}} {
			var b bytes.Buffer
			if err := writeChrome(&b, source, options); err != nil {
				t.Skip()
			}
			if err := checkChrome(b.Bytes()); err != nil {
				t.Errorf("%+v: %v\n%s", options, err, b.Bytes())
			}
		}
	})
}

// switches is a source of n context switches between two programs that needs no memory itself.
func switches(n int) tracefile.Source { return switchSource(n) }

type switchSource int

func (s switchSource) Header() *tracefile.Header {
	return &tracefile.Header{Start: 1e9, CPUs: 1, Probes: []tracefile.ProbeStatus{
		{Name: "sched", Status: tracefile.StatusOn, Via: "tp_btf"}, {Name: "process", Status: tracefile.StatusOn, Via: "tp_btf"}}}
}
func (s switchSource) Trailer() *tracefile.Trailer {
	return &tracefile.Trailer{End: 1e9 + uint64(s)*1000}
}
func (s switchSource) Problems() []tracefile.Problem { return nil }
func (s switchSource) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var e event.Switch
		for i := range uint64(s) {
			e = event.Switch{
				Header:  event.Header{Time: 1e9 + i*1000, TID: uint32(100 + i%2), Kind: uint16(event.KindSwitch)},
				Next:    uint32(100 + (i+1)%2),
				State:   uint8(event.StateSleeping),
				Syscall: event.NoSyscall,
			}
			if !yield(&e, nil) {
				return
			}
		}
	}
}

type limitedWriter struct {
	left int
	err  error
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, w.err
	}
	return len(b), nil
}

// heapWatcher is an output that looks at the heap once in a while.
type heapWatcher struct {
	written, looked int
	peak            uint64
}

func (w *heapWatcher) Write(b []byte) (int, error) {
	if w.written += len(b); w.written >= w.looked {
		w.looked = w.written + 2<<20
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.HeapAlloc)
	}
	return io.Discard.Write(b)
}

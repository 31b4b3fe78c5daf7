package tracefile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

const traces = "../../testdata/traces"

func parseFile(t testing.TB, name string) *Text {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(traces, name))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(b))
}

func parse(t testing.TB, s string) *Text {
	t.Helper()
	text, err := ParseText("test", strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func textOf(t testing.TB, s Source) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func read(b []byte) (*File, error) { return NewReader(bytes.NewReader(b), int64(len(b)), "t.bst") }

func mustRead(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// lines are a source's events as text.
func lines(t testing.TB, s Source) (lines []string) {
	t.Helper()
	w := newTextWriter(s.Header())
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(w.line(e)))
	}
	return lines
}

// writeTrace makes a trace, with a chunk for each step, so that a small one has many. It has no spec but
// that of the one kind it needs, which makes it quick to read thousands of times.
func writeTrace(t testing.TB, end bool, steps ...func(w *Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, &Header{CPUs: 4, Tool: "test", Specs: []event.Spec{*event.SpecOf(event.KindFork)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if err := step(w); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := w.Close(&Trailer{Reason: "the test ended"}); err != nil {
			t.Fatal(err)
		}
	}
	if w.Size() != int64(b.Len()) {
		t.Errorf("Size is %d, %d bytes were written", w.Size(), b.Len())
	}
	return b.Bytes()
}

// fork makes an event whose time and child tell it from others.
func fork(time uint64, child uint32) *event.Fork {
	return &event.Fork{Header: event.Header{Time: time, TID: 1, PID: 1, Kind: uint16(event.KindFork)}, ChildTID: child}
}

func forks(times ...uint64) func(w *Writer) error {
	return func(w *Writer) error {
		for i, time := range times {
			if err := w.Event(fork(time, uint32(i))); err != nil {
				return err
			}
		}
		return nil
	}
}

func sched(cpu int, words []uint64) func(w *Writer) error {
	return func(w *Writer) error { return w.Sched(cpu, words) }
}

// manyChunks is a trace of chunks of every type.
func manyChunks(t testing.TB) []byte {
	a, b := makeWords(1, 300), makeWords(2, 300)
	return writeTrace(t, true,
		forks(5e9, 5e9+10),
		sched(0, a[:100]), sched(1, b[:101]),
		forks(5.001e9, 5.0005e9, 5.002e9),
		sched(0, a[100:200]), sched(1, b[101:]), sched(0, a[200:]),
		forks(5.003e9, 9e9))
}

// chunksOf lists the chunks of a whole trace by walking over their headers.
func chunksOf(t testing.TB, b []byte) (list []chunk) {
	f := mustRead(t, b)
	for c := range f.walk() {
		list = append(list, c)
	}
	return list
}

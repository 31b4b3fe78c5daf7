package tracefile

import (
	"bytes"
	"io"
	"runtime"
	"testing"
)

// live returns the bytes of the heap that are in use.
func live() int64 {
	runtime.GC()
	runtime.GC() // empties the pools, too
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The writer runs on the board, beside what is being recorded.
func TestWriterMemory(t *testing.T) {
	words := makeWords(1, 5*chunkWords)
	raw := bytes.Repeat(fork(1, 1).AppendTo(nil), 1000)
	before := live()
	w, err := NewWriter(io.Discard, &Header{CPUs: 4})
	if err != nil {
		t.Fatal(err)
	}
	for cpu := range 4 {
		if err := w.Sched(cpu, words[:len(words)-1]); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if err := w.Events(raw); err != nil {
			t.Fatal(err)
		}
	}
	got := live() - before
	t.Logf("a writer with 4 CPUs keeps %d KiB", got>>10)
	if got > 3<<20 {
		t.Errorf("a writer with 4 CPUs keeps %d bytes, want at most 3 MiB", got)
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(words)
}

// However long the trace, the reader keeps about a chunk per CPU.
func TestReaderMemory(t *testing.T) {
	f := mustRead(t, writeTrace(t, true, sched(0, makeWords(1, 60*chunkWords)), sched(1, makeWords(2, 60*chunkWords))))
	before := live()
	n, most := 0, int64(0)
	for range f.Events() {
		if n++; n%100000 == 0 {
			most = max(most, live()-before)
		}
	}
	t.Logf("%d events, at most %d KiB", n, most>>10)
	if limit := int64(2 << 20); most > limit {
		t.Errorf("reading keeps %d bytes, want at most %d", most, limit)
	}
}

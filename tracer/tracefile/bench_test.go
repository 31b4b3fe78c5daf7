package tracefile

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

const benchWords = 1 << 20

func benchInput(b testing.TB) []uint64 {
	if name := os.Getenv("BOOTSCOPE_WORDS"); name != "" {
		raw, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		var words []uint64
		for ; len(raw) >= 8; raw = raw[8:] {
			words = append(words, binary.LittleEndian.Uint64(raw)&^event.LapBit)
		}
		return words
	}
	return makeWords(1, benchWords)
}

func switches(words []uint64) (n, wakings int) {
	for _, w := range words {
		switch event.KindOfWord(w) {
		case event.WordSwitch:
			n++
		case event.WordWaking:
			wakings++
		}
	}
	return n, wakings
}

func BenchmarkWriteSched(b *testing.B) {
	words := benchInput(b)
	b.SetBytes(int64(8 * len(words)))
	b.ReportAllocs()
	var size int64
	for b.Loop() {
		w, err := NewWriter(io.Discard, &Header{CPUs: 1})
		if err != nil {
			b.Fatal(err)
		}
		for at := 0; at < len(words); at += 4096 {
			if err := w.Sched(0, words[at:min(at+4096, len(words))]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		size = w.Size()
	}
	n, wakings := switches(words)
	b.ReportMetric(float64(size)/float64(n), "B/switch")
	b.ReportMetric(float64(size)/float64(n+wakings), "B/record")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(words)), "ns/word")
}

func BenchmarkEvents(b *testing.B) {
	words := benchInput(b)
	var buf bytes.Buffer
	w, err := NewWriter(&buf, &Header{CPUs: 4})
	if err != nil {
		b.Fatal(err)
	}
	for cpu := range 4 {
		if err := w.Sched(cpu, words); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(&Trailer{}); err != nil {
		b.Fatal(err)
	}
	f, err := NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = 0
		for _, err := range f.Events() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(8*4*len(words))*float64(b.N)/b.Elapsed().Seconds()/1e6, "MB/s")
}

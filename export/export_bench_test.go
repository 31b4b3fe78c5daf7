package export

import (
	"io"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// million is a recording of that many switches; reading it costs next to nothing.
const million = 1_000_000

func benchmarkWrite(b *testing.B, write func(io.Writer, tracefile.Source) error) {
	b.ReportAllocs()
	var written countingWriter
	for b.Loop() {
		written = 0
		if err := write(&written, switches(million)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/event")
	b.ReportMetric(float64(written)/million, "B/event")
}

type countingWriter int64

func (w *countingWriter) Write(b []byte) (int, error) {
	*w += countingWriter(len(b))
	return len(b), nil
}

func BenchmarkPerf(b *testing.B)        { benchmarkWrite(b, writePerf) }
func BenchmarkPerfSamples(b *testing.B) { benchmarkWrite(b, writePerfSamples) }
func BenchmarkPprof(b *testing.B)       { benchmarkWrite(b, writePprof) }

func BenchmarkChrome(b *testing.B) {
	benchmarkWrite(b, func(w io.Writer, s tracefile.Source) error { return writeChrome(w, s, Options{}) })
}
func BenchmarkChromeCompat(b *testing.B) {
	benchmarkWrite(b, func(w io.Writer, s tracefile.Source) error {
		return writeChrome(w, s, Options{Compat: true, Flows: true})
	})
}

package tracefile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/klauspost/compress/zstd"

	"github.com/bootscope/bootscope/tracer/event"
)

// How much is collected before it becomes a chunk. More would compress little better, take the board's
// memory, and be lost in a power cut.
const (
	chunkBytes = 256 << 10
	chunkWords = 8 << 10
)

// A Writer writes a trace file. It must not be used by two goroutines at once.
type Writer struct {
	w     io.Writer
	enc   *zstd.Encoder
	sync  uint64
	size  int64
	err   error // the first one; nothing is written after it
	sizes sizeTable
	buf   []byte      // a chunk on its way out
	raw   []byte      // pending events
	one   []byte      // the last that came alone
	head  chunkHeader // of the pending events
	cpus  []*schedBuffer
	cols  columns
	live  *Live // is told everything too, unless it is nil
}

// NewWriter begins a trace file. It sets the header's specs if it has none.
func NewWriter(w io.Writer, h *Header) (*Writer, error) {
	if len(h.Specs) == 0 {
		h.Specs = event.Specs
	}
	if err := checkHeader(h); err != nil {
		return nil, fmt.Errorf("cannot write this header: %w", err)
	}
	enc, err := newEncoder()
	if err != nil {
		return nil, err
	}
	// Not crypto/rand, which can block early in a boot.
	t := &Writer{w: w, enc: enc, sync: rand.Uint64(), sizes: newSizeTable(h.Specs)}
	t.resetEvents()
	t.write(appendPrologue(nil, t.sync))
	return t, t.writeJSON(chunkHeaderJSON, h)
}

// Tell makes the writer give all events that it gets from now on to a live trace as well.
func (t *Writer) Tell(live *Live) { t.live = live }

// newEncoder makes the cheapest encoder: it runs on the board, beside what is being recorded.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(128<<10),
		zstd.WithEncoderCRC(false), // the chunk has its own
		// Columns have few repeats but uneven bytes.
		zstd.WithAllLitEntropyCompression(true))
}

// Events adds whole events in wire form, as Event.AppendTo makes them. They are copied.
func (t *Writer) Events(raw []byte) error {
	for len(raw) > 0 && t.err == nil {
		n, err := t.sizes.of(raw)
		if err == nil && n > maxRaw-chunkBytes {
			err = fmt.Errorf("it has %d bytes, %d are possible", n, maxRaw-chunkBytes)
		}
		if err != nil {
			return fmt.Errorf("cannot write this event: %w", err)
		}
		if t.live != nil {
			t.live.event(raw[:n])
		}
		when := binary.LittleEndian.Uint64(raw)
		t.head.Min, t.head.Max = min(t.head.Min, when), max(t.head.Max, when)
		t.head.Count++
		t.raw = append(t.raw, raw[:n]...)
		if len(t.raw) >= chunkBytes {
			t.flushEvents()
		}
		raw = raw[n:]
	}
	return t.err
}

// Event adds one event.
func (t *Writer) Event(e event.Event) error {
	t.one = e.AppendTo(t.one[:0])
	return t.Events(t.one)
}

func (t *Writer) resetEvents() {
	t.raw = t.raw[:0]
	t.head = chunkHeader{Type: chunkEvents, Min: ^uint64(0)}
}

func (t *Writer) flushEvents() {
	if len(t.raw) > 0 {
		t.writeChunk(t.head, t.raw)
	}
	t.resetEvents()
}

// Sched adds packed words of one CPU (see bpf/sched.h), in order. They are copied.
func (t *Writer) Sched(cpu int, words []uint64) error {
	if cpu < 0 || cpu >= maxCPUs {
		return fmt.Errorf("cannot write words of CPU %d: no such CPU is possible", cpu)
	}
	for cpu >= len(t.cpus) {
		t.cpus = append(t.cpus, &schedBuffer{cpu: uint16(len(t.cpus))})
	}
	b := t.cpus[cpu]
	if t.live != nil {
		t.live.sched(cpu, words)
	}
	for len(words) > 0 && t.err == nil {
		n := min(len(words), chunkWords-len(b.words))
		b.words = append(b.words, words[:n]...)
		if len(b.words) == chunkWords {
			t.flushSched(b)
		}
		words = words[n:]
	}
	return t.err
}

func (t *Writer) flushSched(b *schedBuffer) {
	if len(b.words) == 0 {
		return
	}
	head := b.encode(&t.cols)
	t.writeChunk(head, t.cols.list()...)
}

// Flush writes all that is pending.
func (t *Writer) Flush() error {
	t.flushEvents()
	for _, b := range t.cpus {
		t.flushSched(b)
	}
	return t.err
}

// Size returns how many bytes were written.
func (t *Writer) Size() int64 { return t.size }

// Close writes all that is pending and then the trailer. It doesn't close the underlying writer.
func (t *Writer) Close(trailer *Trailer) error {
	if err := t.Flush(); err != nil {
		return err
	}
	return t.writeJSON(chunkTrailerJSON, trailer)
}

func (t *Writer) writeJSON(kind chunkType, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(raw) > maxRaw {
		return fmt.Errorf("cannot write %d bytes of JSON in one chunk: %d are possible", len(raw), maxRaw)
	}
	t.writeChunk(chunkHeader{Type: kind}, raw)
	return t.err
}

// writeChunk compresses and writes a chunk. Each part becomes a frame of its own: what differs in kind
// compresses better apart.
func (t *Writer) writeChunk(h chunkHeader, parts ...[]byte) {
	t.buf = append(t.buf[:0], make([]byte, chunkHeaderSize)...)
	for _, p := range parts {
		t.buf = t.enc.EncodeAll(p, t.buf)
		h.Raw += uint32(len(p))
	}
	payload := t.buf[chunkHeaderSize:]
	h.Codec, h.Payload, h.Sum = codecZstd, uint32(len(payload)), checksum(payload)
	h.appendTo(t.buf[:0], t.sync)
	t.write(t.buf)
}

func (t *Writer) write(b []byte) {
	if t.err != nil {
		return
	}
	n, err := t.w.Write(b)
	t.size += int64(n)
	if err != nil {
		t.err = fmt.Errorf("writing the trace at offset %d: %w", t.size, err)
	}
}

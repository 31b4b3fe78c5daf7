package tracefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A chunk is where a chunk is in a file.
type chunk struct {
	chunkHeader
	offset int64
}

func (c *chunk) end() int64 { return c.offset + chunkHeaderSize + int64(c.Payload) }

func (c *chunk) problem(cause string) Problem {
	return Problem{Offset: c.offset, Length: c.end() - c.offset, Cause: cause}
}

// walk yields the chunks in the order of the file. Where none begins it searches for the next one.
func (f *File) walk() iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		for at := int64(prologueSize); at < f.size; {
			c, cause := f.chunkAt(at)
			if cause != "" {
				next := f.findSync(at + 1)
				f.problem(Problem{Offset: at, Length: next - at, Cause: cause})
				at = next
				continue
			}
			if !yield(c) {
				return
			}
			at = c.end()
		}
	}
}

// chunkAt returns the chunk that begins at an offset, or why none does.
func (f *File) chunkAt(at int64) (c chunk, cause string) {
	var b [chunkHeaderSize]byte
	n, err := f.r.ReadAt(b[:min(chunkHeaderSize, f.size-at)], at)
	if err != nil && err != io.EOF {
		return c, fmt.Sprintf("cannot be read: %v", err)
	}
	h, ok := parseChunkHeader(b[:n], f.sync)
	c = chunk{chunkHeader: h, offset: at}
	switch {
	case n < chunkHeaderSize:
		return c, "the file ends inside a chunk's header"
	case !ok:
		return c, "no chunk begins here: its header is damaged"
	case c.end() > f.size:
		return c, fmt.Sprintf("the file ends inside a chunk: %d of its %d bytes are there", f.size-at, c.end()-at)
	}
	return c, ""
}

// findSync returns where the next chunk begins at or after an offset, or the file's size.
func (f *File) findSync(at int64) int64 {
	want := binary.LittleEndian.AppendUint64(nil, f.sync)
	buf := make([]byte, 64<<10)
	for at+chunkHeaderSize <= f.size {
		n, err := f.r.ReadAt(buf[:min(int64(len(buf)), f.size-at)], at)
		if n < chunkHeaderSize || (err != nil && err != io.EOF) {
			break
		}
		for b := buf[:n]; len(b) >= chunkHeaderSize; b = b[1:] {
			i := bytes.Index(b, want)
			if i < 0 {
				break
			}
			b = b[i:]
			if _, ok := parseChunkHeader(b, f.sync); ok {
				return at + int64(n-len(b))
			}
		}
		at += int64(n - chunkHeaderSize + 1) // a header may begin in what is read and end after it
	}
	return f.size
}

// decompressor is shared: it keeps nothing from one chunk to the next, and its buffers are dear to make.
var decompressor = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderMaxMemory(maxRaw),
		zstd.WithDecodeAllCapLimit(true))
})

// load reads a chunk's payload, checks it, and decompresses it.
func (f *File) load(c *chunk) ([]byte, error) {
	if c.Codec != codecZstd {
		return nil, fmt.Errorf("it is compressed in way %d, which this version doesn't know", c.Codec)
	}
	if c.Raw > maxRaw || c.Payload > maxPayload {
		return nil, fmt.Errorf("it has %d bytes, compressed %d: %d are possible", c.Raw, c.Payload, maxRaw)
	}
	payload := make([]byte, c.Payload)
	if _, err := f.r.ReadAt(payload, c.offset+chunkHeaderSize); err != nil && err != io.EOF {
		return nil, err
	}
	if got := checksum(payload); got != c.Sum {
		return nil, fmt.Errorf("wrong checksum: %08x, should be %08x", got, c.Sum)
	}
	decoder, err := decompressor()
	if err != nil {
		return nil, err
	}
	raw, err := decoder.DecodeAll(payload, make([]byte, 0, c.Raw))
	if err != nil {
		return nil, fmt.Errorf("cannot be decompressed: %w", err)
	}
	if len(raw) != int(c.Raw) {
		return nil, fmt.Errorf("it has %d bytes, should have %d", len(raw), c.Raw)
	}
	return raw, nil
}

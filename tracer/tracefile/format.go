package tracefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A trace file is a prologue and then chunks. All numbers are little-endian.
//
//	prologue   magic (8 bytes), major and minor version (2 each), sync (8), CRC-32C of these (4)
//	chunk      header (48 bytes, see chunkHeader), payload
//
// A chunk's header begins with the sync number of its file. It is random, so that neither recorded
// bytes nor what an old file left on the disk can pass for a chunk.
const (
	// The first byte and the line ends show a file that was sent as text, as PNG's do.
	magic        = "\xb5BST\r\n\x1a\n"
	prologueSize = 24

	majorVersion = 1
	minorVersion = 0

	chunkHeaderSize = 48
)

// A chunkType says what a payload holds. A reader skips types that it doesn't know, so that a new
// section (the kernel log, the journal, cgroup files) is a new number here and no new version.
type chunkType uint8

const (
	chunkHeaderJSON  chunkType = 1 // Header as JSON; the first chunk
	chunkEvents      chunkType = 2 // events as they are on the wire, one after the other
	chunkSched       chunkType = 3 // words of one CPU in columns, see columns.go
	chunkTrailerJSON chunkType = 4 // Trailer as JSON; the last chunk
)

// codecZstd is one or more zstd frames. There is no other codec yet.
const codecZstd = 1

// What a reader accepts, so that a damaged or hostile length costs no memory. The writer stays far below.
const (
	maxRaw     = 16 << 20
	maxPayload = maxRaw + maxRaw/64 + 1024
)

// Errors of Open and NewReader.
var (
	ErrEmpty    = errors.New("is empty")
	ErrNotTrace = errors.New("is not a bootscope trace")
	ErrNewer    = errors.New("was written by a newer bootscope")
	ErrDamaged  = errors.New("is damaged")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func appendPrologue(b []byte, sync uint64) []byte {
	start := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, majorVersion)
	b = binary.LittleEndian.AppendUint16(b, minorVersion)
	b = binary.LittleEndian.AppendUint64(b, sync)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

// parsePrologue returns the sync number. The version comes first: all later versions keep its place.
func parsePrologue(b []byte) (sync uint64, err error) {
	n := min(len(b), len(magic))
	switch {
	case len(b) == 0:
		return 0, ErrEmpty
	case string(b[:n]) != magic[:n]:
		return 0, fmt.Errorf("%w: it begins with %q", ErrNotTrace, b[:n])
	case len(b) < prologueSize:
		return 0, fmt.Errorf("%w: it ends at offset %d, before its first chunk", ErrDamaged, len(b))
	}
	major := binary.LittleEndian.Uint16(b[8:])
	if checksum(b[:prologueSize-4]) != binary.LittleEndian.Uint32(b[prologueSize-4:]) {
		return 0, fmt.Errorf("%w: wrong checksum of the first %d bytes at offset 0", ErrDamaged, prologueSize)
	}
	if major > majorVersion {
		return 0, fmt.Errorf("%w (format %d, this reads up to %d, at offset 8): update bootscope to read it",
			ErrNewer, major, majorVersion)
	}
	return binary.LittleEndian.Uint64(b[12:]), nil
}

// A chunkHeader comes before each payload.
type chunkHeader struct {
	Type    chunkType
	Codec   uint8
	CPU     uint16 // of a sched chunk
	Payload uint32 // bytes that follow
	Raw     uint32 // bytes after decompression
	Count   uint32 // events or words
	Min     uint64 // time of the earliest event, in nanoseconds from boot
	Max     uint64 // time of the latest
	Sum     uint32 // CRC-32C of the payload
}

func (h *chunkHeader) appendTo(b []byte, sync uint64) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, sync)
	b = append(b, byte(h.Type), h.Codec)
	b = binary.LittleEndian.AppendUint16(b, h.CPU)
	b = binary.LittleEndian.AppendUint32(b, h.Payload)
	b = binary.LittleEndian.AppendUint32(b, h.Raw)
	b = binary.LittleEndian.AppendUint32(b, h.Count)
	b = binary.LittleEndian.AppendUint64(b, h.Min)
	b = binary.LittleEndian.AppendUint64(b, h.Max)
	b = binary.LittleEndian.AppendUint32(b, h.Sum)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

// parseChunkHeader tells whether b begins with the header of a chunk.
func parseChunkHeader(b []byte, sync uint64) (h chunkHeader, ok bool) {
	if len(b) < chunkHeaderSize || binary.LittleEndian.Uint64(b) != sync ||
		checksum(b[:chunkHeaderSize-4]) != binary.LittleEndian.Uint32(b[chunkHeaderSize-4:]) {
		return h, false
	}
	return chunkHeader{
		Type:    chunkType(b[8]),
		Codec:   b[9],
		CPU:     binary.LittleEndian.Uint16(b[10:]),
		Payload: binary.LittleEndian.Uint32(b[12:]),
		Raw:     binary.LittleEndian.Uint32(b[16:]),
		Count:   binary.LittleEndian.Uint32(b[20:]),
		Min:     binary.LittleEndian.Uint64(b[24:]),
		Max:     binary.LittleEndian.Uint64(b[32:]),
		Sum:     binary.LittleEndian.Uint32(b[40:]),
	}, true
}

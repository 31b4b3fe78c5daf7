package tracefile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// repair makes the checksums of a trace right, so that the fuzzer gets behind them.
func repair(b []byte) []byte {
	if len(b) < prologueSize {
		return b
	}
	b = bytes.Clone(b)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[20:], checksum(b[:20]))
	sync := binary.LittleEndian.Uint64(b[12:])
	for at := prologueSize; at+chunkHeaderSize <= len(b); {
		h := b[at:]
		binary.LittleEndian.PutUint64(h, sync)
		end := at + chunkHeaderSize + int(binary.LittleEndian.Uint32(h[12:]))
		if end <= len(b) {
			binary.LittleEndian.PutUint32(h[40:], checksum(b[at+chunkHeaderSize:end]))
		}
		binary.LittleEndian.PutUint32(h[44:], checksum(h[:44]))
		at = end
	}
	return b
}

// pack makes a trace of what the fuzzer can change with effect: for each chunk its type, CPU, earliest time
// and length, and what the payload is before compression.
func pack(b []byte) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, &Header{CPUs: 2})
	if err != nil {
		panic(err)
	}
	for len(b) >= 12 {
		h := chunkHeader{Type: chunkType(b[0] % 8), CPU: uint16(b[1]), Min: binary.LittleEndian.Uint64(b[2:])}
		n := min(int(binary.LittleEndian.Uint16(b[10:])), len(b)-12)
		w.writeChunk(h, b[12:12+n])
		b = b[12+n:]
	}
	return out.Bytes()
}

func unpacked(kind chunkType, raw []byte) []byte {
	b := append([]byte{byte(kind)}, make([]byte, 9)...)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(raw))), raw...)
}

// tryRead reads all that can be read. What it gives must be in order and must survive as text.
func tryRead(t *testing.T, b []byte) {
	f, err := read(b)
	if err != nil {
		return
	}
	defer f.Close()
	last := uint64(0)
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Head().Time < last {
			t.Fatalf("time goes back from %d to %d", last, e.Head().Time)
		}
		last = e.Head().Time
	}
	for _, p := range f.Problems() {
		if p.Offset < 0 || p.Length <= 0 || p.Offset+p.Length > int64(len(b)) || p.Cause == "" {
			t.Errorf("problem %+v in %d bytes", p, len(b))
		}
	}
	text := textOf(t, f)
	again, err := ParseText("again", strings.NewReader(text))
	if err != nil {
		if strings.Contains(err.Error(), "has the kind of") || strings.Contains(err.Error(), "is there twice") {
			return // the file's own specs have names of this version for other kinds
		}
		t.Fatalf("%v\n%s", err, text)
	}
	if got, want := strings.Join(lines(t, again), ""), strings.Join(lines(t, f), ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(writeTrace(f, true, forks(1, 2), sched(0, makeWords(1, 20))))
	f.Add(unpacked(chunkEvents, fork(10, 1).AppendTo(nil)))
	var b schedBuffer
	var c columns
	b.words = makeWords(1, 30)
	b.encode(&c)
	f.Add(unpacked(chunkSched, slices.Concat(c.list()...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		tryRead(t, b)
		tryRead(t, repair(b))
		tryRead(t, pack(b))
	})
}

// What ParseText accepts is written and read again without a change, as text and as a file.
func FuzzText(f *testing.F) {
	f.Add(textOf(f, parseFile(f, "python-start.txt")))
	f.Add("1.5 [003] ?/7 path path=\"/a/b\"\n")
	f.Fuzz(func(t *testing.T, s string) {
		text, err := ParseText("fuzz", strings.NewReader(s))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz:") {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		want := textOf(t, text)
		again, err := ParseText("again", strings.NewReader(want))
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if got := textOf(t, again); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
		var b bytes.Buffer
		if err := WriteBinary(&b, text); err != nil {
			t.Fatal(err)
		}
		if got := textOf(t, mustRead(t, b.Bytes())); got != want {
			t.Fatalf("as a file\n%s\nwant\n%s", got, want)
		}
	})
}

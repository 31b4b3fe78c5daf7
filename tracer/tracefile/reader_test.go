package tracefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// Words come back as the events that they are, over chunks and CPUs, in order of time.
func TestSchedRoundTrip(t *testing.T) {
	var want []string
	var steps []func(w *Writer) error
	for cpu := range 3 {
		words := makeWords(uint64(cpu), 2*chunkWords+1000)
		// Notes of each kind, in odd places; and a lap bit, which means nothing here.
		words = slices.Insert(words, 700, uint64(event.WordNote)<<kindShift|1<<noteShift|42)
		words = slices.Insert(words, 500, uint64(event.WordNote)<<kindShift|4<<noteShift|1<<31|5000)
		words[100] |= event.LapBit
		want = append(want, decodeWords(t, uint16(cpu), words)...)
		for len(words) > 0 {
			n := min(len(words), 20011)
			steps = append(steps, sched(cpu, words[:n]))
			words = words[n:]
		}
	}
	f := mustRead(t, writeTrace(t, true, steps...))
	got := lines(t, f)
	if !slices.IsSortedFunc(got, compareTime) {
		t.Error("not in order of time")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d events came back of %d, or others", len(got), len(want))
	}
	if p := f.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

func compareTime(a, b string) int {
	at, _ := parseSeconds(a[:strings.IndexByte(a, ' ')])
	bt, _ := parseSeconds(b[:strings.IndexByte(b, ' ')])
	return int(int64(at - bt))
}

// However the words are cut by flushes, also between a note and its switch, they say the same.
func TestFlushBetweenAnyTwoWords(t *testing.T) {
	words := makeWords(9, 60)
	words = slices.Insert(words, 30, uint64(event.WordNote)<<kindShift|4<<noteShift|5000)
	words = slices.Insert(words, 40, uint64(event.WordNote)<<kindShift|2<<noteShift|7, currentWord(77))
	for i, word := range words {
		if event.KindOfWord(word) == event.WordWaking { // a note about a waking, too
			words = slices.Insert(words, i, uint64(event.WordNote)<<kindShift|5<<noteShift|2)
			break
		}
	}
	want := decodeWords(t, 0, words)
	for cut := range len(words) {
		b := writeTrace(t, false, sched(0, words[:cut]), sched(0, words[cut:]))
		if got := lines(t, mustRead(t, b)); !slices.Equal(got, want) {
			t.Fatalf("cut before word %d: got %d events, want %d", cut, len(got), len(want))
		}
	}
}

// Events reach the file in any order and leave it sorted; of the same time, in the order of the file.
func TestOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	var steps []func(w *Writer) error
	for range 50 {
		var times []uint64
		for range rnd.IntN(20) {
			times = append(times, uint64(1000+rnd.IntN(300)))
		}
		steps = append(steps, forks(times...))
	}
	f := mustRead(t, writeTrace(t, true, steps...))
	last := uint64(0)
	n := 0
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Head().Time < last {
			t.Fatalf("event %d is at %d, after %d", n, e.Head().Time, last)
		}
		last = e.Head().Time
		n++
	}
	if n == 0 || len(f.Problems()) > 0 {
		t.Errorf("%d events, problems %v", n, f.Problems())
	}
}

// The kernel's fast clock can step back a little: the words stay in their order, also over chunks.
func TestClockStepsBack(t *testing.T) {
	waking := func(target, units uint64) uint64 {
		return uint64(event.WordWaking)<<kindShift | target<<tidShift | syscallMask<<syscallShift | units&timeMask
	}
	words := []uint64{timeWord(1e6), waking(1, 1e6), timeWord(1e6 - 3), waking(2, 1e6-3), timeWord(1e6 - 4), waking(3, 1e6-4),
		waking(4, 1e6-2), waking(5, 1e6+1)}
	for cut := range words {
		f := mustRead(t, writeTrace(t, true, sched(0, words[:cut]), sched(0, words[cut:])))
		target, last := uint32(0), uint64(0)
		for e := range f.Events() {
			w := e.(*event.Waking)
			if target++; w.Target != target || w.Time < last {
				t.Errorf("cut before word %d: waking %d at %d comes after %d at %d", cut, w.Target, w.Time, target, last)
			}
			last = w.Time
		}
		if target != 5 || last != 8e6+8 || len(f.Problems()) > 0 {
			t.Errorf("cut before word %d: %d events, problems %v", cut, target, f.Problems())
		}
	}
}

func TestStopEarly(t *testing.T) {
	f := mustRead(t, manyChunks(t))
	for range f.Events() {
		break
	}
	for range f.Events() {
		for range f.Events() { // two at once
			break
		}
	}
	if p := f.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// forge writes chunks as a Writer doesn't.
func forge(t *testing.T, chunks ...func(w *Writer)) []byte {
	return writeTrace(t, true, func(w *Writer) error {
		for _, c := range chunks {
			c(w)
		}
		return w.err
	})
}

func raw(h chunkHeader, payload []byte) func(w *Writer) {
	return func(w *Writer) { w.writeChunk(h, payload) }
}

func TestForgedChunks(t *testing.T) {
	good := fork(10, 1).AppendTo(nil)
	unknown := bytes.Clone(good)
	unknown[16] = 200
	long := bytes.Clone(good)
	binary.LittleEndian.PutUint32(long[20:], 1<<31)
	back := []uint64{timeWord(1e6), 1e6, timeWord(5), 5}
	var b schedBuffer
	b.words = back
	var cols columns
	head := b.encode(&cols)
	for _, test := range []struct {
		name   string
		chunk  func(w *Writer)
		events int
		cause  string
	}{
		{"future type", raw(chunkHeader{Type: 77}, []byte("what")), 0, ""},
		{"no events", raw(chunkHeader{Type: chunkEvents}, nil), 0, ""},
		{"unknown kind", raw(chunkHeader{Type: chunkEvents}, slices.Concat(good, unknown, good)), 1, "kind 200 is not in the trace's own list (at byte 40 of 120)"},
		{"long tail", raw(chunkHeader{Type: chunkEvents}, slices.Concat(good, long)), 1, "at byte 40 of 80"},
		{"half an event", raw(chunkHeader{Type: chunkEvents}, good[:30]), 0, "needs 40 bytes, 30 are there"},
		{"half a header", raw(chunkHeader{Type: chunkEvents}, good[:20]), 0, "needs 24 bytes, 20 are there"},
		{"too early", raw(chunkHeader{Type: chunkEvents, Min: 5e6}, good), 0, "time goes back by 4999990 ns"},
		{"no columns", raw(chunkHeader{Type: chunkSched}, nil), 0, "sizes of its columns"},
		{"long columns", raw(chunkHeader{Type: chunkSched}, []byte{1, 1, 1, 0, 0, 0, 0, 0, 0}), 0, "longer than the chunk"},
		{"many words", raw(chunkHeader{Type: chunkSched}, []byte{9, 1, 0, 0, 0, 0, 0, 0, 0}), 0, "shorter than the chunk"},
		{"no time", raw(chunkHeader{Type: chunkSched}, []byte{1, 1, 0, 0, 0, 0, 0, 0, 0}), 0, "the columns end before word 0 of 1"},
		{"time goes back", func(w *Writer) { head.Min = 0; w.writeChunk(head, cols.list()...) }, 1, "time goes back"},
		{"second trailer", raw(chunkHeader{Type: chunkTrailerJSON}, []byte("{")), 0, "trailer cannot be used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := mustRead(t, forge(t, test.chunk))
			if n := len(lines(t, f)); n != test.events {
				t.Errorf("%d events, want %d", n, test.events)
			}
			p := f.Problems()
			if test.cause == "" && len(p) == 0 {
				return
			}
			if len(p) != 1 || !strings.Contains(p[0].Cause, test.cause) || p[0].Length == 0 {
				t.Errorf("problems %+v, want one with %q", p, test.cause)
			}
			if f.Trailer() == nil {
				t.Error("no trailer")
			}
		})
	}
}

// A length is checked before memory is taken for it.
func TestHugeLengths(t *testing.T) {
	good := writeTrace(t, true, forks(1, 2))
	sync := binary.LittleEndian.Uint64(good[12:])
	for _, change := range []func(h *chunkHeader){
		func(h *chunkHeader) { h.Raw = 1<<32 - 1 },
		func(h *chunkHeader) { h.Raw = 1 },
		func(h *chunkHeader) { h.Raw++ },
		func(h *chunkHeader) { h.Codec = 9 },
	} {
		b := bytes.Clone(good)
		c := chunksOf(t, b)[1]
		change(&c.chunkHeader)
		c.appendTo(b[c.offset:c.offset], sync)
		f := mustRead(t, b)
		if n := len(lines(t, f)); n != 0 || len(f.Problems()) != 1 {
			t.Errorf("%d events, problems %v", n, f.Problems())
		}
	}
}

func TestOpenErrors(t *testing.T) {
	whole := manyChunks(t)
	newer := bytes.Clone(whole)
	binary.LittleEndian.PutUint16(newer[8:], 7)
	binary.LittleEndian.PutUint32(newer[20:], checksum(newer[:20]))
	noHeader := appendPrologue(nil, 1)
	badSpecs := func() []byte {
		var b bytes.Buffer
		w, err := NewWriter(&b, &Header{})
		if err != nil {
			t.Fatal(err)
		}
		b.Truncate(prologueSize)
		w.writeChunk(chunkHeader{Type: chunkHeaderJSON}, []byte(`{"specs":[{"kind":300,"name":"x","size":24}]}`))
		return b.Bytes()
	}()
	dir := t.TempDir()
	for _, test := range []struct {
		name  string
		bytes []byte
		is    error
		want  string
	}{
		{"empty.bst", nil, ErrEmpty, "empty.bst is empty"},
		{"foreign.bst", []byte("#!/bin/sh\n"), ErrNotTrace, `is not a bootscope trace: it begins with "#!/bin/s"`},
		{"short.bst", []byte(magic + "\x01"), ErrDamaged, "ends at offset 9"},
		{"newer.bst", newer, ErrNewer, "was written by a newer bootscope (format 7, this reads up to 1, at offset 8)"},
		{"headless.bst", noHeader, ErrDamaged, "should be at offset 24, is missing or cut off"},
		{"specs.bst", badSpecs, ErrDamaged, `its header at offset 24 cannot be used: event spec "x": kind 300`},
	} {
		path := filepath.Join(dir, test.name)
		if err := os.WriteFile(path, test.bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none.bst")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// After a power cut the end of a file can be zeros, or old data of another trace.
func TestForeignBytesAtTheEnd(t *testing.T) {
	b := writeTrace(t, false, forks(1, 2, 3))
	other := writeTrace(t, true, forks(7))
	for name, end := range map[string][]byte{"zeros": make([]byte, 100000), "another trace": other[prologueSize:]} {
		f := mustRead(t, slices.Concat(b, end))
		if n := len(lines(t, f)); n != 3 || f.Trailer() != nil {
			t.Errorf("%s: %d events, trailer %v", name, n, f.Trailer())
		}
		if p := f.Problems(); len(p) != 1 || p[0].Offset != int64(len(b)) || p[0].Length != int64(len(end)) {
			t.Errorf("%s: problems %+v", name, p)
		}
	}
}

func TestOpenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := manyChunks(t)
	go func() {
		w.Write(b)
		w.Close()
	}()
	f, err := openStream(r, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := len(lines(t, f)), len(lines(t, mustRead(t, b))); got != want || f.Trailer() == nil {
		t.Errorf("%d events, want %d", got, want)
	}
}

// Switches and wakings make no garbage.
func TestNoAllocationPerEvent(t *testing.T) {
	f := mustRead(t, writeTrace(t, true, sched(0, makeWords(1, 3*chunkWords)), sched(1, makeWords(2, 3*chunkWords))))
	n := 0
	allocs := testing.AllocsPerRun(2, func() {
		n = 0
		for range f.Events() {
			n++
		}
	})
	if allocs > float64(n)/500 {
		t.Errorf("%v allocations for %d events", allocs, n)
	}
}

package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A cutter cuts a trace and knows what must be left.
type cutter struct {
	b      []byte
	chunks []chunk
	parts  []part
}

type part struct {
	end   int64
	lines []string
}

func newCutter(t *testing.T, b []byte) *cutter {
	f := mustRead(t, b)
	c := &cutter{b: b, chunks: chunksOf(t, b)}
	for i := range f.chunks {
		one := &File{r: f.r, size: f.size, header: f.header, decoder: f.decoder, sizes: f.sizes,
			sync: f.sync, chunks: f.chunks[i : i+1], problems: map[Problem]bool{}}
		c.parts = append(c.parts, part{f.chunks[i].end(), lines(t, one)})
	}
	return c
}

// whole returns the events of the chunks that end at or before a cut.
func (c *cutter) whole(cut int) (all []string) {
	for _, p := range c.parts {
		if p.end <= int64(cut) {
			all = append(all, p.lines...)
		}
	}
	slices.Sort(all)
	return all
}

// check opens the first n bytes of the trace.
func (c *cutter) check(t *testing.T, n int) {
	t.Helper()
	f, err := read(c.b[:n])
	if int64(n) < c.chunks[0].end() {
		if err == nil || !strings.HasPrefix(err.Error(), "t.bst ") {
			t.Fatalf("cut at %d: %v", n, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("cut at %d: %v", n, err)
	}
	defer f.Close()
	if (f.Trailer() != nil) != (n == len(c.b)) {
		t.Errorf("cut at %d of %d: trailer is %v", n, len(c.b), f.Trailer())
	}
	got := lines(t, f)
	slices.Sort(got)
	if want := c.whole(n); !slices.Equal(got, want) {
		t.Errorf("cut at %d: %d events, want %d", n, len(got), len(want))
	}
}

func TestCutInLastTwoChunks(t *testing.T) {
	c := newCutter(t, manyChunks(t))
	for n := int(c.chunks[len(c.chunks)-2].offset); n <= len(c.b); n++ {
		c.check(t, n)
	}
}

func TestCutAnywhere(t *testing.T) {
	c := newCutter(t, manyChunks(t))
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		c.check(t, rnd.IntN(len(c.b)+1))
	}
	for n := range prologueSize + 2 {
		c.check(t, n)
	}
}

// checkFlip opens a trace with a wrong bit: every event that it gives is one of the true ones, and what
// is missing was reported.
func checkFlip(t *testing.T, b []byte, at int, bit byte, want map[string]int, total int) {
	t.Helper()
	bad := bytes.Clone(b)
	bad[at] ^= 1 << bit
	f, err := read(bad)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "t.bst ") || !strings.Contains(err.Error(), "offset") && !errors.Is(err, ErrNotTrace) {
			t.Fatalf("flip at %d: the error doesn't say where: %v", at, err)
		}
		return
	}
	defer f.Close()
	seen := map[string]int{}
	n := 0
	for _, line := range lines(t, f) {
		n++
		if seen[line]++; seen[line] > want[line] {
			t.Fatalf("flip at %d: an event that was not recorded: %s", at, line)
		}
	}
	problems := f.Problems()
	if len(problems) != 1 {
		t.Fatalf("flip at %d: problems %v, want one", at, problems)
	}
	p := problems[0]
	if int64(at) < p.Offset || int64(at) >= p.Offset+p.Length || p.Cause == "" {
		t.Errorf("flip at %d: the problem is elsewhere: %+v", at, p)
	}
	if f.Trailer() != nil && n == total {
		t.Errorf("flip at %d: a problem, but all is there", at)
	}
}

func count(lines []string) map[string]int {
	m := map[string]int{}
	for _, l := range lines {
		m[l]++
	}
	return m
}

func TestFlipEveryBit(t *testing.T) {
	a := makeWords(3, 60)
	b := writeTrace(t, true, forks(5e9), sched(0, a[:30]), forks(5e9+7, 5e9), sched(0, a[30:]))
	all := lines(t, mustRead(t, b))
	step := 1
	if testing.Short() {
		step = 7
	}
	for at := range b {
		for bit := at % step; bit < 8; bit += step {
			checkFlip(t, b, at, byte(bit), count(all), len(all))
		}
	}
}

func TestFlipSomeBits(t *testing.T) {
	b := manyChunks(t)
	all := lines(t, mustRead(t, b))
	want := count(all)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		checkFlip(t, b, rnd.IntN(len(b)), byte(rnd.IntN(8)), want, len(all))
	}
}

// A damaged chunk of a CPU does not change the meaning of the words in its later ones.
func TestLaterChunksSurvive(t *testing.T) {
	words := makeWords(5, 900)
	b := writeTrace(t, true, sched(2, words[:300]), sched(2, words[300:600]), sched(2, words[600:]))
	chunks := chunksOf(t, b)
	b[chunks[2].offset+chunkHeaderSize+5] ^= 0x10 // the header is chunk 0
	got := lines(t, mustRead(t, b))
	all := decodeWords(t, 2, words)
	head, tail := len(decodeWords(t, 2, words[:300])), len(all)-len(decodeWords(t, 2, words[:600]))
	want := slices.Concat(all[:head], all[len(all)-tail:])
	if !slices.Equal(got, want) {
		t.Errorf("got %d events, want %d", len(got), len(want))
	}
}

func TestProblemsAreToldOnce(t *testing.T) {
	b := writeTrace(t, true, forks(1), forks(2), forks(3))
	chunks := chunksOf(t, b)
	b[chunks[2].offset+chunkHeaderSize] ^= 1
	f := mustRead(t, b)
	lines(t, f)
	lines(t, f)
	want := fmt.Sprintf("%d", chunks[2].offset)
	if p := f.Problems(); len(p) != 1 || fmt.Sprint(p[0].Offset) != want || !strings.Contains(p[0].Cause, "checksum") {
		t.Errorf("problems %+v, want one at %s about a checksum", p, want)
	}
}

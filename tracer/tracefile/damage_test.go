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

// wholeBefore counts the events of the chunks that end at or before a cut.
func wholeBefore(t *testing.T, b []byte) func(cut int) []string {
	f := mustRead(t, b)
	type part struct {
		end   int64
		lines []string
	}
	var parts []part
	for i := range f.chunks {
		one := &File{r: f.r, size: f.size, header: f.header, decoder: f.decoder, sizes: f.sizes, zstd: f.zstd,
			sync: f.sync, chunks: f.chunks[i : i+1], problems: map[Problem]bool{}}
		parts = append(parts, part{f.chunks[i].end(), lines(t, one)})
	}
	return func(cut int) (all []string) {
		for _, p := range parts {
			if p.end <= int64(cut) {
				all = append(all, p.lines...)
			}
		}
		slices.Sort(all)
		return all
	}
}

// checkCut opens the first n bytes of a trace.
func checkCut(t *testing.T, b []byte, n int, whole func(int) []string) {
	t.Helper()
	f, err := read(b[:n])
	if first := chunksOf(t, b)[0]; int64(n) < first.end() {
		if err == nil || !strings.HasPrefix(err.Error(), "t.bst ") {
			t.Fatalf("cut at %d: %v", n, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("cut at %d: %v", n, err)
	}
	defer f.Close()
	if (f.Trailer() != nil) != (n == len(b)) {
		t.Errorf("cut at %d of %d: trailer is %v", n, len(b), f.Trailer())
	}
	got := lines(t, f)
	slices.Sort(got)
	if want := whole(n); !slices.Equal(got, want) {
		t.Errorf("cut at %d: %d events, want %d", n, len(got), len(want))
	}
}

func TestCutInLastTwoChunks(t *testing.T) {
	b := manyChunks(t)
	whole := wholeBefore(t, b)
	chunks := chunksOf(t, b)
	for n := int(chunks[len(chunks)-2].offset); n <= len(b); n++ {
		checkCut(t, b, n, whole)
	}
}

func TestCutAnywhere(t *testing.T) {
	b := manyChunks(t)
	whole := wholeBefore(t, b)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		checkCut(t, b, rnd.IntN(len(b)+1), whole)
	}
	for n := range prologueSize + 2 {
		checkCut(t, b, n, whole)
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

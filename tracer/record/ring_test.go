//go:build linux

package record

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/btf"

	"github.com/bootscope/bootscope/tracer/event"
)

// newRings makes rings in this process's memory.
func newRings(cpus int) *schedRings {
	s := &schedRings{batch: make([]uint64, 0, 4096)}
	for range cpus {
		s.rings = append(s.rings, &schedRing{})
	}
	return s
}

// put writes a word as put_word of bpf/sched.h does. It returns false if the ring is full.
func (r *schedRing) put(word uint64) bool {
	if r.head-r.tail == ringWords {
		r.lostFull++
		return false
	}
	if r.head&ringWords == 0 {
		word |= event.LapBit
	}
	r.words[r.head%ringWords] = word
	r.head++
	return true
}

// TestRingDrain lets a writer and the reader go round the ring several times, in steps of different sizes:
// each word comes out once, in order, without its lap bit.
func TestRingDrain(t *testing.T) {
	for _, step := range []int{1, 4095, 4096, 4097, ringWords - 1, ringWords} {
		s := newRings(2)
		next, want := uint64(1), uint64(1)
		for range min(5*ringWords/step+2, 3000) {
			for range step {
				if !s.rings[1].put(next) {
					t.Fatalf("steps of %d: the ring is full after %d words, %d were read", step, next-1, want-1)
				}
				next++
			}
			err := s.drain(func(cpu int, words []uint64) error {
				for _, w := range words {
					if cpu != 1 || w != want {
						t.Fatalf("steps of %d: word %d of CPU %d, want %d of CPU 1", step, w, cpu, want)
					}
					want++
				}
				return nil
			})
			if err != nil || want != next {
				t.Fatalf("steps of %d: %d words came, %d were written (%v)", step, want-1, next-1, err)
			}
		}
	}
}

// TestRingFull: what comes while the ring is full is lost and counted; it goes on after that.
func TestRingFull(t *testing.T) {
	s := newRings(1)
	for i := range uint64(ringWords + 10) {
		s.rings[0].put(i)
	}
	if full, _, untold, _ := s.losses(0); full != 10 || untold != 10 {
		t.Errorf("%d words are lost, %d of them not told; want 10", full, untold)
	}
	var got []uint64
	take := func(_ int, words []uint64) error { got = append(got, words...); return nil }
	if err := s.drain(take); err != nil || len(got) != ringWords {
		t.Fatalf("%d words came (%v), want %d", len(got), err, ringWords)
	}
	s.rings[0].put(4711)
	got = nil
	if err := s.drain(take); err != nil || !slices.Equal(got, []uint64{4711}) {
		t.Errorf("after that came %v (%v), want 4711", got, err)
	}
}

// TestRingStopsAtError: the words that could not be written are not taken for unread again.
func TestRingStopsAtError(t *testing.T) {
	s := newRings(2)
	s.rings[0].put(1)
	s.rings[1].put(2)
	full := errors.New("no space left on device")
	if err := s.drain(func(int, []uint64) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want the sink's error", err)
	}
}

// TestRingLayout compares the ring's struct with that of the objects.
func TestRingLayout(t *testing.T) {
	for name, load := range loaders {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		var s *btf.Struct
		if err := spec.Types.TypeByName("sched_ring", &s); err != nil {
			t.Fatal(err)
		}
		r := schedRing{}
		want := map[string]uintptr{
			"head": unsafe.Offsetof(r.head), "last_time": unsafe.Offsetof(r.lastTime),
			"lost_full": unsafe.Offsetof(r.lostFull), "lost_nested": unsafe.Offsetof(r.lostNested),
			"noted_full": unsafe.Offsetof(r.notedFull), "noted_nested": unsafe.Offsetof(r.notedNested),
			"tail": unsafe.Offsetof(r.tail), "words": unsafe.Offsetof(r.words),
		}
		for _, m := range s.Members {
			if at, ok := want[m.Name]; ok && uintptr(m.Offset.Bytes()) != at {
				t.Errorf("%s: %s is at %d, in Go at %d", name, m.Name, m.Offset.Bytes(), at)
			}
			delete(want, m.Name)
		}
		if len(want) > 0 || uintptr(s.Size) != unsafe.Sizeof(r) {
			t.Errorf("%s: the ring has %d bytes, in Go %d; it lacks %v", name, s.Size, unsafe.Sizeof(r), want)
		}
	}
}

func TestRingBufferBytes(t *testing.T) {
	for want, bytes := range map[uint32]int{1 << 16: 1, 1 << 17: 1<<16 + 1, 8 << 20: DefaultBufferBytes, 1 << 30: 1 << 40} {
		if got := ringBufferBytes(bytes); got != want {
			t.Errorf("%d bytes are rounded to %d, want %d", bytes, got, want)
		}
	}
}

//go:build linux

package record

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// ringWords is SCHED_RING_WORDS of bpf/sched.h.
const ringWords = 65536

// schedRing is struct sched_ring of bpf/sched.h, shared with the kernel.
type schedRing struct {
	head, lastTime         uint64
	lostFull, lostNested   uint64
	notedFull, notedNested uint64
	_                      [18]uint32
	tail                   uint64
	_                      [15]uint64
	words                  [ringWords]uint64
}

// schedRings maps the rings of all CPUs.
type schedRings struct {
	memory []byte
	rings  []*schedRing
	batch  []uint64 // reused
}

func mapSchedRings(m *ebpf.Map) (*schedRings, error) {
	stride := int(unsafe.Sizeof(schedRing{}))
	if int(m.ValueSize()) != stride {
		return nil, fmt.Errorf("sched ring of %d bytes in the BPF object, %d here", m.ValueSize(), stride)
	}
	page := os.Getpagesize()
	size := (stride*int(m.MaxEntries()) + page - 1) / page * page
	memory, err := unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the sched rings: %w", err)
	}
	s := &schedRings{memory: memory, batch: make([]uint64, 0, 4096)}
	for cpu := range int(m.MaxEntries()) {
		s.rings = append(s.rings, (*schedRing)(unsafe.Pointer(&memory[cpu*stride])))
	}
	return s, nil
}

func (s *schedRings) close() error { return unix.Munmap(s.memory) }

// drain hands the words that were written since the last time to sink, CPU by CPU. A word tells by
// its lap bit whether it was written in this lap, so no counter of the kernel's has to be believed.
func (s *schedRings) drain(sink func(cpu int, words []uint64) error) error {
	for cpu, ring := range s.rings {
		for {
			batch := s.batch[:0]
			tail := atomic.LoadUint64(&ring.tail)
			for len(batch) < cap(batch) {
				word := atomic.LoadUint64(&ring.words[tail%ringWords])
				if word&event.LapBit != lapBit(tail) {
					break
				}
				batch = append(batch, word&^event.LapBit)
				tail++
			}
			if len(batch) == 0 {
				break
			}
			atomic.StoreUint64(&ring.tail, tail)
			if err := sink(cpu, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// read is how many words were drained so far.
func (s *schedRings) read() (words uint64) {
	for _, ring := range s.rings {
		words += atomic.LoadUint64(&ring.tail)
	}
	return words
}

// lapBit is what the top bit of a word at this position is once it was written.
func lapBit(position uint64) uint64 {
	if position&ringWords == 0 {
		return event.LapBit
	}
	return 0
}

// losses returns how many events of a CPU were lost so far, in all and not yet told in the stream.
func (s *schedRings) losses(cpu int) (full, nested, untoldFull, untoldNested uint64) {
	r := s.rings[cpu]
	full, nested = atomic.LoadUint64(&r.lostFull), atomic.LoadUint64(&r.lostNested)
	return full, nested, full - atomic.LoadUint64(&r.notedFull), nested - atomic.LoadUint64(&r.notedNested)
}

package tracefile

import (
	"encoding/binary"
	"math/bits"

	"github.com/bootscope/bootscope/tracer/event"
)

// A sched chunk is the words of one CPU in columns, each compressed as a frame of its own. It can be
// decoded alone: it begins with words that say the time and who runs.
//
//	sizes     number of words, then the bytes of each column below (varints)
//	tags      one byte a word: kind (2 bits), and of a switch or waking its state (3), how its tid is
//	          written (2) and whether its system call is (1)
//	tids      of a tid that was not foreseen: its low byte
//	uppers    of a tid whose low byte doesn't tell it: the upper bytes (2)
//	syscalls  of a system call that was not foreseen: 2 bytes
//	others    time and note words as they are: 8 bytes
//	lengths   the number of bits of the time since the word before: 1 byte
//	bits      these bits, without the first, which is 1
//
// The time's bits are all but random and take most of the room; their number is not, and packs well.
type columns struct {
	sizes, tags, tids, uppers, syscalls, others, lengths, bits []byte

	count int
	acc   uint64 // bits that don't fill a byte yet
	used  uint
	guess guesses
}

// How a tid is written.
const (
	tidFollows = iota // who came after the running task the last time
	tidWoken          // who was woken last (switch), or who runs (waking)
	tidLow            // the last tid with this low byte
	tidFull
)

const (
	tagStateShift  = 2
	tagTIDShift    = 5
	tagSyscallFlag = 1 << 7
)

// guesses foresees tids and system calls from the words before in the chunk. Encoder and decoder
// keep the same.
type guesses struct {
	follows [2][256]uint32 // by kind and running tid
	low     [256]uint32    // by low byte
	syscall [256]uint16    // by tid: in which it slept the last time
	woken   uint32
}

// list returns the columns in their order.
func (c *columns) list() [][]byte {
	return [][]byte{c.sizes, c.tags, c.tids, c.uppers, c.syscalls, c.others, c.lengths, c.bits}
}

func (c *columns) reset() {
	for _, col := range []*[]byte{&c.sizes, &c.tags, &c.tids, &c.uppers, &c.syscalls, &c.others, &c.lengths, &c.bits} {
		*col = (*col)[:0]
	}
	c.count, c.acc, c.used, c.guess = 0, 0, 0, guesses{}
}

// add appends a word. s is the state before it.
func (c *columns) add(word uint64, s *wordState) {
	c.count++
	kind := event.KindOfWord(word)
	if kind > event.WordWaking {
		c.tags = append(c.tags, byte(kind))
		c.others = binary.LittleEndian.AppendUint64(c.others, word)
		return
	}
	tag := byte(kind) | byte(word>>stateShift&stateMask)<<tagStateShift
	tid := tidOf(word)
	how := c.guess.how(kind, s.current, tid)
	if how >= tidLow {
		c.tids = append(c.tids, byte(tid))
		if how == tidFull {
			c.uppers = append(c.uppers, byte(tid>>8), byte(tid>>16))
		}
	}
	call := uint16(word >> syscallShift & syscallMask)
	if call != c.guess.call(kind, s.current) {
		tag |= tagSyscallFlag
		c.syscalls = binary.LittleEndian.AppendUint16(c.syscalls, call)
	}
	c.guess.learn(kind, s.current, tid, call)
	c.tags = append(c.tags, tag|byte(how)<<tagTIDShift)
	c.addTime(word - s.time)
}

// addTime appends the time since the word before, in units of timeUnit.
func (c *columns) addTime(delta uint64) {
	delta &= timeMask
	n := uint(bits.Len64(delta))
	c.lengths = append(c.lengths, byte(n))
	if n < 2 {
		return
	}
	c.acc |= delta &^ (1 << (n - 1)) << c.used
	for c.used += n - 1; c.used >= 8; c.used -= 8 {
		c.bits = append(c.bits, byte(c.acc))
		c.acc >>= 8
	}
}

// finish ends the last byte of bits and writes the sizes.
func (c *columns) finish() {
	if c.used > 0 {
		c.bits = append(c.bits, byte(c.acc))
	}
	c.sizes = binary.AppendUvarint(c.sizes, uint64(c.count))
	for _, col := range c.list()[1:] {
		c.sizes = binary.AppendUvarint(c.sizes, uint64(len(col)))
	}
}

func (g *guesses) how(kind event.WordKind, current, tid uint32) int {
	switch tid {
	case g.follows[kind][current&0xff]:
		return tidFollows
	case g.second(kind, current):
		return tidWoken
	case g.low[tid&0xff]:
		return tidLow
	}
	return tidFull
}

func (g *guesses) second(kind event.WordKind, current uint32) uint32 {
	if kind == event.WordSwitch {
		return g.woken
	}
	return current
}

// call foresees the system call of the task that runs; a waking has none.
func (g *guesses) call(kind event.WordKind, current uint32) uint16 {
	if kind == event.WordSwitch {
		return g.syscall[current&0xff]
	}
	return syscallMask
}

func (g *guesses) learn(kind event.WordKind, current, tid uint32, call uint16) {
	g.follows[kind][current&0xff] = tid
	g.low[tid&0xff] = tid
	if kind == event.WordSwitch {
		g.syscall[current&0xff] = call
	} else {
		g.woken = tid
	}
}

// A schedBuffer holds the words of one CPU that are not in a chunk yet.
type schedBuffer struct {
	cpu   uint16
	words []uint64
	state wordState // before the first of words
	last  uint64    // the latest time of all chunks, in units of timeUnit
}

// encode puts the words into columns, empties the buffer, and returns the chunk's header. The chunk's
// times begin where those of the CPU's chunk before end, even if the clock stepped back in between:
// that keeps the chunks in order.
func (b *schedBuffer) encode(c *columns) chunkHeader {
	c.reset()
	state, first := wordState{}, true
	h := chunkHeader{Type: chunkSched, CPU: b.cpu, Min: b.last * timeUnit}
	add := func(word uint64) {
		word &^= event.LapBit
		c.add(word, &state)
		if !state.next(word) {
			return
		}
		b.last = max(b.last, state.time)
		if first {
			h.Min, first = b.last*timeUnit, false
		}
	}
	for _, word := range b.state.words() {
		add(word)
	}
	for _, word := range b.words {
		add(word)
	}
	c.finish()
	h.Max, h.Count = b.last*timeUnit, uint32(c.count)
	b.state, b.words = state, b.words[:0]
	return h
}

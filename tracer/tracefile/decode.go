package tracefile

import (
	"encoding/binary"
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
)

// decodeColumns is the opposite of columns.add: it returns the words of a sched chunk.
func decodeColumns(raw []byte) ([]uint64, error) {
	c, err := splitColumns(raw)
	if err != nil {
		return nil, err
	}
	words := make([]uint64, c.count)
	var s wordState
	for i := range words {
		word, err := c.next(i, &s)
		if err != nil {
			return nil, err
		}
		s.next(word)
		words[i] = word
	}
	return words, nil
}

// splitColumns finds the columns.
func splitColumns(raw []byte) (*columns, error) {
	c := &columns{}
	var sizes [8]uint64
	rest := raw
	for i := range sizes {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > uint64(len(raw)) {
			return nil, fmt.Errorf("the sizes of its columns are not possible")
		}
		sizes[i], rest = v, rest[n:]
	}
	c.count = int(sizes[0])
	for i, col := range []*[]byte{&c.tags, &c.tids, &c.uppers, &c.syscalls, &c.others, &c.lengths, &c.bits} {
		if sizes[i+1] > uint64(len(rest)) {
			return nil, fmt.Errorf("its columns are longer than the chunk")
		}
		*col, rest = rest[:sizes[i+1]], rest[sizes[i+1]:]
	}
	if len(rest) > 0 || len(c.tags) != c.count {
		return nil, fmt.Errorf("its columns are shorter than the chunk")
	}
	return c, nil
}

// next puts word number i together. s is the state before it.
func (c *columns) next(i int, s *wordState) (uint64, error) {
	tag := c.tags[i]
	kind := event.WordKind(tag & 3)
	if kind > event.WordWaking {
		b := take(&c.others, 8)
		if b == nil || event.KindOfWord(binary.LittleEndian.Uint64(b)) != kind {
			return 0, fmt.Errorf("word %d is not what its tag says", i)
		}
		return binary.LittleEndian.Uint64(b) &^ event.LapBit, nil
	}
	tid, ok := c.nextTID(kind, int(tag>>tagTIDShift&3), s.current)
	call := c.guess.call(kind, s.current)
	if tag&tagSyscallFlag != 0 {
		if b := take(&c.syscalls, 2); b != nil {
			call = binary.LittleEndian.Uint16(b)
		} else {
			ok = false
		}
	}
	delta, whole := c.nextTime()
	if !ok || !whole || call > syscallMask {
		return 0, fmt.Errorf("the columns end before word %d of %d", i, c.count)
	}
	c.guess.learn(kind, s.current, tid, call)
	return uint64(kind)<<kindShift | uint64(tid)<<tidShift | uint64(tag>>tagStateShift&stateMask)<<stateShift |
		uint64(call)<<syscallShift | (s.time+delta)&timeMask, nil
}

func (c *columns) nextTID(kind event.WordKind, how int, current uint32) (tid uint32, ok bool) {
	switch how {
	case tidFollows:
		return c.guess.follows[kind][current&0xff], true
	case tidWoken:
		return c.guess.second(kind, current) & tidMask, true
	}
	low := take(&c.tids, 1)
	if low == nil {
		return 0, false
	}
	if how == tidLow {
		return c.guess.low[low[0]], true
	}
	upper := take(&c.uppers, 2)
	if upper == nil {
		return 0, false
	}
	return (uint32(low[0]) | uint32(upper[0])<<8 | uint32(upper[1])<<16) & tidMask, true
}

func (c *columns) nextTime() (delta uint64, ok bool) {
	length := take(&c.lengths, 1)
	if length == nil || length[0] > 27 {
		return 0, false
	}
	if length[0] < 2 {
		return uint64(length[0]), true
	}
	n := uint(length[0]) - 1
	for c.used < n {
		b := take(&c.bits, 1)
		if b == nil {
			return 0, false
		}
		c.acc |= uint64(b[0]) << c.used
		c.used += 8
	}
	delta = c.acc&(1<<n-1) | 1<<n
	c.acc >>= n
	c.used -= n
	return delta, true
}

// take cuts the first n bytes off a column, or returns nil when it has fewer.
func take(col *[]byte, n int) []byte {
	if len(*col) < n {
		return nil
	}
	b := (*col)[:n]
	*col = (*col)[n:]
	return b
}

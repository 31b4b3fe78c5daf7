package tracefile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bootscope/bootscope/tracer/event"
)

// A cursor goes through the events of one chunk in order of time.
type cursor struct {
	chunk *chunk
	event event.Event // where it is; valid until it advances
	time  uint64      // of event
	next  func() event.Event
	bytes int   // that it keeps in memory
	err   error // why the rest of the chunk was skipped
}

// maxBackstep is by how much time may go back from one word of a CPU to the next. The kernel's fast clock
// is not monotonic when it is adjusted (see ktime_get_mono_fast_ns): it goes back by some nanoseconds.
const maxBackstep = 1e6

// advance goes to the next event and tells whether there is one. Small steps back are evened out, since
// the order is known better than the time.
func (c *cursor) advance() bool {
	c.event = c.next()
	if c.event == nil {
		return false
	}
	h := c.event.Head()
	if back := c.time - h.Time; h.Time < c.time && back > maxBackstep {
		c.err = fmt.Errorf("time goes back by %d ns at %d ns: what follows is skipped", back, c.time)
		return false
	}
	h.Time = max(h.Time, c.time)
	c.time = h.Time
	return true
}

// before orders the cursors by time; of the same time, the first in the file comes first.
func (c *cursor) before(d *cursor) bool {
	return c.time < d.time || c.time == d.time && c.chunk.offset < d.chunk.offset
}

// cursor loads a chunk and goes before its first event.
func (f *File) cursor(chunk *chunk) *cursor {
	c := &cursor{chunk: chunk, time: chunk.Min, next: func() event.Event { return nil }}
	raw, err := f.load(chunk)
	switch {
	case err != nil:
		c.err = err
	case chunk.Type == chunkSched:
		c.readWords(raw)
	default:
		c.readEvents(raw, f.decoder, &f.sizes)
	}
	return c
}

// readWords makes c a cursor over the words of a CPU.
func (c *cursor) readWords(raw []byte) {
	words, err := decodeColumns(raw)
	if err != nil {
		c.err = err
		return
	}
	c.bytes = 8 * len(words)
	d := event.SchedDecoder{CPU: c.chunk.CPU}
	c.next = func() event.Event {
		for len(words) > 0 {
			e := d.Next(words[0])
			words = words[1:]
			if e != nil {
				return e
			}
		}
		return nil
	}
}

// A place is where an event is in its chunk.
type place struct {
	time uint64
	at   int
}

// readEvents makes c a cursor over a chunk of events. They are only nearly in order: CPUs overtake each
// other between reading the clock and reserving their place.
func (c *cursor) readEvents(raw []byte, decoder *event.Decoder, sizes *sizeTable) {
	places := make([]place, 0, min(c.chunk.Count, uint32(len(raw)/event.HeaderSize)))
	for at := 0; at < len(raw); {
		n, err := sizes.of(raw[at:])
		if err != nil {
			c.err = fmt.Errorf("%w (at byte %d of %d): what follows is skipped", err, at, len(raw))
			break
		}
		places = append(places, place{binary.LittleEndian.Uint64(raw[at:]), at})
		at += n
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.time, b.time) })
	c.bytes = len(raw) + 16*len(places)
	c.next = func() event.Event {
		if len(places) == 0 {
			return nil
		}
		e, _, err := decoder.Next(raw[places[0].at:])
		if err != nil {
			c.err = err
			return nil
		}
		places = places[1:]
		return e
	}
}

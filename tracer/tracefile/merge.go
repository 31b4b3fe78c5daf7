package tracefile

import (
	"fmt"
	"iter"

	"github.com/bootscope/bootscope/tracer/event"
)

// maxOpen limits the memory of all chunks that are open at once. Ordinary traces need about one chunk
// per CPU; only a file made to harm needs so many at the same time.
const maxOpen = 1 << 30

// Events implements Source. The chunks are sorted by their earliest event, so before an event is
// yielded, every chunk that may hold an earlier one is open: the order is exact, however little of it
// the file has. In memory are the chunks that overlap in time.
func (f *File) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ahead, stop := f.readAhead()
		defer stop()
		var open heap
		total := 0
		for left := f.chunks; ; {
			for len(left) > 0 && (len(open) == 0 || left[0].Min <= open[0].time) {
				c := <-ahead
				left = left[1:]
				if total += c.bytes; total > maxOpen {
					yield(nil, fmt.Errorf("%s: more than %d MiB of chunks overlap in time at offset %d",
						f.name, maxOpen>>20, c.chunk.offset))
					return
				}
				if c.advance() {
					open.push(c)
				} else {
					total -= f.finish(c)
				}
			}
			if len(open) == 0 {
				return
			}
			c := open[0]
			if !yield(c.event, nil) {
				return
			}
			if c.advance() {
				open.down(0)
			} else {
				total -= f.finish(c)
				open.pop()
			}
		}
	}
}

// finish reports what a cursor met and returns the bytes that it kept.
func (f *File) finish(c *cursor) int {
	if c.err != nil {
		f.problem(c.chunk.problem(c.err.Error()))
	}
	return c.bytes
}

// readAhead loads the chunks in their order, two ahead of who takes them, until stop is called.
func (f *File) readAhead() (ahead <-chan *cursor, stop func()) {
	ch, done := make(chan *cursor, 1), make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for i := range f.chunks {
			select {
			case ch <- f.cursor(&f.chunks[i]):
			case <-done:
				return
			}
		}
	}()
	return ch, func() {
		close(done)
		<-finished // so that the file may be closed
	}
}

// A heap keeps the cursor with the earliest event first.
type heap []*cursor

func (h *heap) push(c *cursor) {
	*h = append(*h, c)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *heap) pop() {
	s := *h
	last := len(s) - 1
	s[0], s[last] = s[last], nil
	*h = s[:last]
	h.down(0)
}

// down moves the cursor at i to where it belongs, after its time has grown.
func (h heap) down(i int) {
	for {
		first := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h) && h[child].before(h[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

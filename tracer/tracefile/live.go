package tracefile

import (
	"encoding/binary"
	"iter"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
)

// Live is a trace that is still being recorded. A Writer gives it what it gets itself (Writer.Tell).
type Live struct {
	header  *Header
	cpus    []*event.SchedDecoder
	pending []liveEvent // not yet released
	ready   []liveEvent // in order of time
}

// liveEvent is an event in wire form.
type liveEvent struct {
	time uint64
	wire []byte
}

// Begin sets the header. It comes before anything else.
func (l *Live) Begin(h *Header) { l.header = h }

// event takes one event in wire form.
func (l *Live) event(raw []byte) {
	wire := append([]byte(nil), raw...)
	l.pending = append(l.pending, liveEvent{binary.LittleEndian.Uint64(wire), wire})
}

// sched takes packed words of one CPU.
func (l *Live) sched(cpu int, words []uint64) {
	for cpu >= len(l.cpus) {
		l.cpus = append(l.cpus, &event.SchedDecoder{CPU: uint16(len(l.cpus))})
	}
	for _, w := range words {
		if e := l.cpus[cpu].Next(w); e != nil {
			l.pending = append(l.pending, liveEvent{e.Head().Time, e.AppendTo(nil)})
		}
	}
}

// Release makes ready what is older than a moment: nothing older will come.
func (l *Live) Release(before uint64) {
	sort.SliceStable(l.pending, func(i, j int) bool { return l.pending[i].time < l.pending[j].time })
	n := sort.Search(len(l.pending), func(i int) bool { return l.pending[i].time >= before })
	l.ready = append(l.ready, l.pending[:n]...)
	l.pending = append(l.pending[:0:0], l.pending[n:]...)
}

// Header implements Source.
func (l *Live) Header() *Header { return l.header }

// Trailer implements Source: the end is not known, but there will be one.
func (l *Live) Trailer() *Trailer { return &Trailer{End: ^uint64(0)} }

// Problems implements Source.
func (l *Live) Problems() []Problem { return nil }

// Events implements Source: it yields what was released since the last time, and forgets it.
func (l *Live) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		decoder, err := event.NewDecoder(event.Specs)
		if err != nil {
			yield(nil, err)
			return
		}
		ready := l.ready
		l.ready = nil
		for _, e := range ready {
			decoded, _, err := decoder.Next(e.wire)
			if !yield(decoded, err) {
				return
			}
		}
	}
}

package main

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const (
	progressAfter = time.Second            // work that is shorter shows nothing
	progressEvery = 200 * time.Millisecond // between two changes of the line
	progressCheck = 1 << 14                // events between two looks at the clock
)

// progress is a trace that shows on a terminal how much of it was read.
type progress struct {
	tracefile.Source
	w     io.Writer // nil if nobody watches
	name  string
	begun time.Time
	shown time.Time
}

func newProgress(w io.Writer, name string, source tracefile.Source) *progress {
	p := &progress{Source: source, name: name, begun: time.Now()}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

// Events implements tracefile.Source.
func (p *progress) Events() iter.Seq2[event.Event, error] {
	if p.w == nil {
		return p.Source.Events()
	}
	return func(yield func(event.Event, error) bool) {
		n := 0
		for e, err := range p.Source.Events() {
			if n++; n%progressCheck == 0 && e != nil {
				p.show(n, e.Head().Time)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// show tells how far the reading is. A trace that was cut off doesn't say where it ends.
func (p *progress) show(events int, at uint64) {
	now := time.Now()
	if now.Sub(p.begun) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	done := fmt.Sprintf("%d events", events)
	if t, start := p.Trailer(), p.Header().Start; t != nil && start <= at && at <= t.End {
		done = fmt.Sprintf("%.0f %%", 100*float64(at-start)/float64(max(t.End-start, 1)))
	}
	fmt.Fprintf(p.w, "\rreading %s: %s\x1b[K", p.name, done)
}

// clear takes the line away.
func (p *progress) clear() {
	if !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

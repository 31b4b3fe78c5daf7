package export

import (
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// importFrame is a module that is being imported, below the one that asked for it. There is one for
// each stack, so that stacks can be compared by their pointers.
type importFrame struct {
	parent *importFrame // nil for the outermost
	module string
	file   string
}

// importStacks tells what each thread was importing at a time.
type importStacks struct {
	threads [][]importSpan // by Thread.Index, each in order of time
	frames  map[importFrame]*importFrame
}

// importSpan is a stretch of a thread's life in which it imported the same.
type importSpan struct {
	start, end uint64
	frame      *importFrame
}

// newImportStacks takes the time from one open of a module to the thread's next as the import of the first.
// After a thread's last open nothing tells where the import ended.
func newImportStacks(tl *timeline.Timeline, interpreters []*python.Interpreter) *importStacks {
	s := &importStacks{threads: make([][]importSpan, len(tl.Threads)), frames: map[importFrame]*importFrame{}}
	for _, in := range interpreters {
		for _, o := range in.Opens {
			spans := s.threads[o.Thread.Index]
			if n := len(spans); n > 0 && spans[n-1].end == forever {
				spans[n-1].end = o.Time
			}
			if o.Until != nil {
				frame := s.frame(importFrame{module: o.Module, file: o.File.Path})
				spans = append(spans, importSpan{o.Time, forever, frame})
			}
			s.threads[o.Thread.Index] = spans
		}
	}
	return s
}

func (s *importStacks) frame(f importFrame) *importFrame {
	known := s.frames[f]
	if known == nil {
		known = &f
		s.frames[f] = known
	}
	return known
}

// at returns what a thread imports at a time, nil for nothing, and until when that holds. A thread's times
// don't go back, so what is over is dropped.
func (s *importStacks) at(thread int, at uint64) (frame *importFrame, until uint64) {
	spans := s.threads[thread]
	for len(spans) > 0 && spans[0].end <= at {
		spans = spans[1:]
	}
	s.threads[thread] = spans
	switch {
	case len(spans) == 0:
		return nil, forever
	case spans[0].start > at:
		return nil, spans[0].start
	}
	return spans[0].frame, spans[0].end
}

package export

import (
	"sort"

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

func newImportStacks(tl *timeline.Timeline, interpreters []*python.Interpreter) *importStacks {
	s := &importStacks{threads: make([][]importSpan, len(tl.Threads)), frames: map[importFrame]*importFrame{}}
	for _, in := range interpreters {
		for _, m := range in.Roots {
			s.add(m, nil)
		}
	}
	for _, spans := range s.threads { // a thread has run several programs, or one has several roots
		sort.SliceStable(spans, func(i, j int) bool { return spans[i].start < spans[j].start })
	}
	return s
}

// add adds the stretches of a module: its own are those between what it asked for.
func (s *importStacks) add(m *python.Module, parent *importFrame) {
	frame := s.frame(importFrame{parent, m.Name, m.Open.File.Path})
	thread, at := m.Open.Thread.Index, m.Start
	for _, child := range m.Children {
		s.span(thread, at, child.Start, frame)
		s.add(child, frame)
		at = max(at, child.End)
	}
	s.span(thread, at, m.End, frame)
}

func (s *importStacks) span(thread int, start, end uint64, frame *importFrame) {
	if start < end {
		s.threads[thread] = append(s.threads[thread], importSpan{start, end, frame})
	}
}

func (s *importStacks) frame(f importFrame) *importFrame {
	known := s.frames[f]
	if known == nil {
		known = &f
		s.frames[f] = known
	}
	return known
}

// at returns what a thread imports at a time, nil for nothing, and until when that holds.
func (s *importStacks) at(thread int, at uint64) (frame *importFrame, until uint64) {
	spans := s.threads[thread]
	next := sort.Search(len(spans), func(i int) bool { return spans[i].start > at })
	until = forever
	if next < len(spans) {
		until = spans[next].start
	}
	if next > 0 && spans[next-1].end > at {
		return spans[next-1].frame, min(until, spans[next-1].end)
	}
	return nil, until
}

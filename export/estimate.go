package export

import (
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Sizes are the bytes that a format takes, on average, for each event of a kind, as measured in recordings
// of a busy machine (docs/formats.md). What is not listed takes little.
type Sizes struct {
	Switch, Waking, Open, Sample, Mapping float64
	Thread                                float64 // for each that was there, or was forked
}

// What options add to trace events.
var (
	compatSizes = Sizes{Switch: 100, Waking: 80}
	flowSizes   = Sizes{Waking: 450}
)

func (s Sizes) plus(t Sizes) Sizes {
	return Sizes{
		s.Switch + t.Switch, s.Waking + t.Waking, s.Open + t.Open, s.Sample + t.Sample, s.Mapping + t.Mapping,
		s.Thread + t.Thread,
	}
}

// Counts are the events of a recording that matter for the size of an export.
type Counts struct{ switches, wakings, opens, samples, mappings, threads int }

// Count reads a source once.
func Count(source tracefile.Source) (*Counts, error) {
	c := &Counts{}
	for e, err := range source.Events() {
		if err != nil {
			return nil, fmt.Errorf("counting events: %w", err)
		}
		switch e.(type) {
		case *event.Switch:
			c.switches++
		case *event.Waking:
			c.wakings++
		case *event.Open:
			c.opens++
		case *event.Sample:
			c.samples++
		case *event.Mapping:
			c.mappings++
		case *event.Task, *event.Fork:
			c.threads++
		}
	}
	return c, nil
}

// Estimate is about how many bytes a format takes for so many events.
func (f *Format) Estimate(c *Counts, options Options) int64 {
	s := f.Sizes
	if options.Compat {
		s = s.plus(compatSizes)
	}
	if options.Flows {
		s = s.plus(flowSizes)
	}
	return int64(s.Switch*float64(c.switches) + s.Waking*float64(c.wakings) + s.Open*float64(c.opens) +
		s.Sample*float64(c.samples) + s.Mapping*float64(c.mappings) + s.Thread*float64(c.threads))
}

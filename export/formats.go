// Package export writes traces in the formats of other tools: one file for each format, and the table
// here that lists them. What people read is in its subpackage report.
//
// It knows the timeline and the formats. It must not know where a trace comes from or where output goes.
package export

import (
	"io"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A Format is a way to write a trace.
type Format struct {
	Name        string
	Ending      string // of a file's name
	Description string
	Large       string // what to know of an output that is large
	Options     bool   // it heeds Options
	Sizes       Sizes
	Write       func(w io.Writer, source tracefile.Source, options Options) error
}

// Options are choices within a format.
type Options struct {
	Compat bool // for viewers that don't know events of phase T: the states of threads as slices
	Flows  bool // arrows from who wakes to who is woken
}

// withoutOptions makes a format's Write of one that knows no options.
func withoutOptions(write func(io.Writer, tracefile.Source) error) func(io.Writer, tracefile.Source, Options) error {
	return func(w io.Writer, source tracefile.Source, _ Options) error { return write(w, source) }
}

// Formats lists every format.
var Formats = []Format{
	{
		Name:        "perfetto",
		Ending:      ".pftrace",
		Description: "for ui.perfetto.dev: a tenth of the size of chrome's",
		Sizes:       Sizes{Switch: 9, Waking: 9, Open: 65, Thread: 300},
		Large:       "ui.perfetto.dev holds all of it in memory, and the tables it makes of it",
		Write:       withoutOptions(writePerfetto),
	},
	{
		Name:        "chrome",
		Ending:      ".chrome.json",
		Description: "trace events as JSON for ui.perfetto.dev, chrome://tracing",
		Sizes:       Sizes{Switch: 345, Waking: 150, Open: 215, Thread: 1000},
		Large:       "ui.perfetto.dev opens it slowly, chrome://tracing may not open it",
		Options:     true,
		Write:       writeChrome,
	},
	{
		Name:        "pprof",
		Ending:      ".pb.gz",
		Description: "a profile for pprof: time by unit, process and import",
		Sizes:       Sizes{Thread: 45},
		Large:       "its size is that of the threads and imports: this trace has very many",
		Write:       withoutOptions(writePprof),
	},
	{
		Name:        "perf",
		Ending:      ".perf.data",
		Description: "perf.data for perf report, perf script and perf sched",
		Sizes:       Sizes{Switch: 232, Waking: 180, Sample: 64, Mapping: 150, Thread: 300},
		Large:       "perf reads all of it before it shows anything; perf-samples is smaller",
		Write:       withoutOptions(writePerf),
	},
	{
		Name:        "perf-samples",
		Ending:      ".samples.perf.data",
		Description: "perf.data for tools that can't read tracepoints: hotspot",
		Sizes:       Sizes{Sample: 64, Mapping: 150, Thread: 300},
		Large:       "hotspot and perf read all of it before they show anything",
		Write:       withoutOptions(writePerfSamples),
	},
}

// Find returns the format of a name.
func Find(name string) (*Format, bool) {
	for i := range Formats {
		if Formats[i].Name == name {
			return &Formats[i], true
		}
	}
	return nil, false
}

// Names lists the formats' names.
func Names() []string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return names
}

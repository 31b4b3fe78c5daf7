// Package python finds what Python did in a recording, from the files that it opened and from how deep
// its stack was when it did: which import asked for which, what each cost, which files were compiled
// again. Python itself is not instrumented.
//
// Everything here is inferred, and says how sure it is: see Calibration. The package must not know how
// anything is shown, nor what is worth reporting.
package python

import (
	"path"
	"regexp"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Interpreter is a process while it runs one Python program: until it ends, or calls exec.
type Interpreter struct {
	Process *timeline.Process
	Exe     string // as it was known at the first open
	Version string // such as "3.11", from the names of its bytecode; "" if not known
	Program string // the script or module that it runs; "" if the arguments don't tell
	Start   uint64 // of the program
	Forked  bool   // it goes on with its parent's program: no exec
	Opens   []*Open
	// Modules are its imports by time; Roots are those that no other asked for.
	Modules, Roots []*Module
	Calibration    *Calibration
	// ImportsEnd is when the imports of its start had ended, see importsEnd.
	ImportsEnd uint64
	// FirstWait is when its first thread then first slept for long: it waits for work. 0 if it did not.
	FirstWait uint64
	Search    Search
	// WritesBytecode: it tried to write bytecode at least once.
	WritesBytecode bool
}

// Search is what looking for modules cost until ImportsEnd, as far as it can be seen: the stat calls, which most
// of the search consists of, are not recorded.
type Search struct {
	FailedOpens, Listings int
	// Time is how long the imports looked for their files: estimated from the usual lead, see Calibration.
	Time uint64
}

// run is an interpreter in the making, and which of its process's programs it is.
type run struct {
	Interpreter
	execs    int
	python   bool // it is known to be Python
	tag      string
	writes   bool
	archives map[string]bool
	tracks   []*track
}

// Collector is a sink that collects what Python's threads did.
type Collector struct {
	timeline.Discard
	latest map[*timeline.Process]*run
	runs   []*run
	tracks []*track // by Thread.Index, nil for threads that are of no interest
}

// NewCollector returns a sink for one Build.
func NewCollector() *Collector {
	return &Collector{latest: map[*timeline.Process]*run{}}
}

// Open implements timeline.Sink.
func (c *Collector) Open(o *timeline.Open) {
	if o.Thread.Process == nil || o.Path == "" {
		return
	}
	r := c.runOf(o.Thread.Process)
	if isLibPython(o.Path) {
		r.python = true
	}
	t := c.track(o.Thread)
	if t == nil || t.run != r {
		if !r.python && !IsModuleFile(o.Path) {
			return
		}
		t = c.newTrack(o.Thread, r, o.Time)
	}
	t.onOpen(o)
}

// Sample implements timeline.Sink.
func (c *Collector) Sample(th *timeline.Thread, e *event.Sample) {
	if t := c.track(th); t != nil && e.Flags&event.SampleNoUser == 0 {
		t.add(sampled, e.Time, e.UserSP)
	}
}

// Fault implements timeline.Sink.
func (c *Collector) Fault(th *timeline.Thread, e *event.Fault) {
	if t := c.track(th); t != nil && e.UserSP != 0 {
		t.add(sampled, e.Time, e.UserSP)
	}
}

// Interval implements timeline.IntervalSink.
func (c *Collector) Interval(iv *timeline.Interval) {
	if iv.State == timeline.Running {
		return
	}
	if t := c.track(iv.Thread); t != nil {
		t.addPause(iv)
	}
}

func (c *Collector) track(th *timeline.Thread) *track {
	if th.Index < len(c.tracks) {
		return c.tracks[th.Index]
	}
	return nil
}

func (c *Collector) newTrack(th *timeline.Thread, r *run, now uint64) *track {
	for len(c.tracks) <= th.Index {
		c.tracks = append(c.tracks, nil)
	}
	t := &track{thread: th, run: r, begin: now}
	c.tracks[th.Index] = t
	r.tracks = append(r.tracks, t)
	return t
}

// runOf returns the interpreter that a process is now. Whether it is one is inherited by fork, and told
// by the program's name after exec.
func (c *Collector) runOf(p *timeline.Process) *run {
	r := c.latest[p]
	if r != nil && r.execs == len(p.Execs) {
		return r
	}
	r = &run{
		Interpreter: Interpreter{Process: p, Exe: p.Exe, Start: p.Start},
		execs:       len(p.Execs), archives: map[string]bool{},
	}
	if n := len(p.Execs); n > 0 {
		r.Start = p.Execs[n-1].Time
	}
	r.Program = programOf(p.Argv)
	r.python = isPython(p.Exe) || len(p.Argv) > 0 && isPython(p.Argv[0])
	if parent := c.latest[p.Parent]; parent != nil && len(p.Execs) == 0 {
		r.python, r.Forked = r.python || parent.python, true
	}
	c.latest[p] = r
	c.runs = append(c.runs, r)
	return r
}

var pythonName = regexp.MustCompile(`^(python|pypy)[0-9.]*[a-z]*$`)

// isPython tells an interpreter by the name of its program. A script's own name says nothing, but then
// the kernel has made the interpreter the first argument.
func isPython(program string) bool { return pythonName.MatchString(path.Base(program)) }

// isLibPython tells the library that programs which embed Python load.
func isLibPython(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "libpython") && strings.Contains(base, ".so")
}

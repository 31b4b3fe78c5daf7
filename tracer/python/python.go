// Package python finds what Python did in a recording, from the files that it opened: an import is the
// open of a .pyc, a .py or an extension module. Python itself is not instrumented.
//
// It must not know how anything is shown. For now it gives the files as a flat list, each with the time
// until the thread opened the next one; which import asked for which (a tree, from the stack
// pointers that are kept here) comes on top of Interpreter.Opens.
package python

import (
	"path"
	"regexp"
	"strings"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// Interpreter is a process while it runs one Python program: until it ends, or calls exec.
type Interpreter struct {
	Process *timeline.Process
	Exe     string // as it was known at the first open
	Opens   []*Open

	python bool
}

// Open is an open of a Python file that succeeded.
type Open struct {
	Thread *timeline.Thread
	File   *timeline.File
	Module string // a guess, from the path alone
	Time   uint64
	UserSP uint64
	// Until is how the thread spent the time until it opened its next Python file. It is nil for the
	// thread's last one: what runs after that is the program, and nothing tells where the import ended.
	Until *timeline.Times
}

// Collector is a sink that collects Python's opens.
type Collector struct {
	timeline.Discard
	latest  map[*timeline.Process]*run
	runs    []*run
	threads map[*timeline.Thread]*cursor
}

// run is an interpreter and which of its process's programs it is.
type run struct {
	Interpreter
	execs int
}

// cursor is the last open of a thread.
type cursor struct {
	open *Open
	run  *run
	then timeline.Times // the thread's time until then
}

// NewCollector returns a sink for one Build.
func NewCollector() *Collector {
	return &Collector{
		latest:  map[*timeline.Process]*run{},
		threads: map[*timeline.Thread]*cursor{},
	}
}

// Open implements timeline.Sink.
func (c *Collector) Open(o *timeline.Open) {
	p := o.Thread.Process
	if o.File == nil || p == nil {
		return
	}
	if isLibPython(o.File.Path) {
		c.runOf(p).python = true
		return
	}
	if !IsModuleFile(o.File.Path) {
		return
	}
	r := c.runOf(p)
	opened := &Open{
		Thread: o.Thread, File: o.File, Module: ModuleOf(o.File.Path), Time: o.Time, UserSP: o.UserSP,
	}
	r.Opens = append(r.Opens, opened)
	now := o.Thread.TimesAt(o.Time)
	last := c.threads[o.Thread]
	if last == nil {
		last = &cursor{}
		c.threads[o.Thread] = last
	} else if last.run == r {
		spent := now.Since(&last.then)
		last.open.Until = &spent
	}
	*last = cursor{opened, r, now}
}

// runOf returns the interpreter that a process is now. Whether it is one is inherited by fork, and told
// by the program's name after exec.
func (c *Collector) runOf(p *timeline.Process) *run {
	r := c.latest[p]
	if r != nil && r.execs == len(p.Execs) {
		return r
	}
	r = &run{Interpreter: Interpreter{Process: p, Exe: p.Exe}, execs: len(p.Execs)}
	r.python = isPython(p.Exe) || len(p.Argv) > 0 && isPython(p.Argv[0])
	if parent := c.latest[p.Parent]; parent != nil && len(p.Execs) == 0 {
		r.python = r.python || parent.python
	}
	c.latest[p] = r
	c.runs = append(c.runs, r)
	return r
}

// Interpreters returns the processes that ran Python and opened modules, by the time of their first open.
func (c *Collector) Interpreters() []*Interpreter {
	var list []*Interpreter
	for _, r := range c.runs {
		if r.python && len(r.Opens) > 0 {
			list = append(list, &r.Interpreter)
		}
	}
	return list
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

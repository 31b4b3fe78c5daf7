package python

import (
	"strings"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// Module is one import of a module: from when it was opened until its code had run.
type Module struct {
	Name   string
	Open   *Open
	Parent *Module // whose code asked for it first; nil if none that is known
	// Children are the imports that this one asked for, by time.
	Children []*Module
	Start    uint64 // of the import; that of its package, if that was imported on its behalf
	End      uint64
	// EndSeen: something told when it ended, else the next event only bounds it.
	EndSeen bool
	// Main: it is the program itself, run with -m. What its code does is no part of an import, so it has no self time.
	Main  bool
	Again bool           // the process had begun to import it before: it failed, or was reloaded
	Self  timeline.Times // without its children
	Total timeline.Times // with them

	base uint64 // the stack pointer at its open, as Python itself would have opened it
}

// levelsBelow tells how many levels a name is below that of a package: 1 for its own submodules, 0 if it is
// none of them.
func levelsBelow(name, pkg string) int {
	rest, ok := strings.CutPrefix(name, pkg)
	if !ok || pkg == "" || rest == "" || rest[0] != '.' {
		return 0
	}
	return strings.Count(rest, ".")
}

// walker goes through a thread's marks with the stack of the imports that go on.
type walker struct {
	track *track
	cal   *Calibration
	names map[*Open]string

	program string // what runs as the main module, "" if no module does
	stack   []*Module
	last    *Module // the latest import
	modules []*Module
	awake   point // when it last woke up
	slept   point // its first long sleep since the latest import
	at      point // up to where time has been given away
}

// walk rebuilds the imports of a thread.
func walk(t *track, cal *Calibration, names map[*Open]string) []*Module {
	w := &walker{track: t, cal: cal, names: names, program: t.run.Program}
	lastImport := -1
	for i := range t.marks {
		if t.marks[i].what == imported {
			lastImport = i
		}
	}
	for i := range t.marks {
		m := &t.marks[i]
		switch {
		case m.what == imported:
			w.begin(i)
		case m.what == slept && m.long:
			w.sleep(point{m.time, m.times}, i > lastImport)
		case m.what == woke:
			w.awake = point{m.time, m.times}
		case m.sp != 0:
			w.observe(i)
		}
		if i > lastImport && len(w.stack) == 0 {
			return w.modules
		}
	}
	w.closeAll(w.finish())
	return w.modules
}

// sleep takes in a long sleep. After the last import the program is at work then, and waits for more. Before
// another import that nobody asked for it was at work, too: that is known only when that import comes.
func (w *walker) sleep(at point, last bool) {
	if last {
		w.closeAll(at)
	} else if w.slept.time == 0 {
		w.slept = at
	}
}

// finish is the end of the thread, when nothing told before that an import had ended.
func (w *walker) finish() point {
	th := w.track.thread
	return point{th.End, th.TimesAt(th.End)}
}

// begin takes in an import: those that it can't be part of have ended.
func (w *walker) begin(i int) {
	m := &w.track.marks[i]
	next := &Module{Name: w.names[m.open], Open: m.open, base: m.sp}
	if m.open.file.kind == extension {
		next.base += w.cal.Loader
	}
	here := w.before(i)
	if here.time < w.at.time {
		here = w.at
	}
	next.Start = here.time
	depth := w.depthFor(next)
	if w.slept.time > w.at.time && (depth == 0 || depth == 1 && w.stack[0].Main) {
		w.closeTo(depth, w.slept)
	}
	w.slept = point{}
	w.closeTo(depth, here)
	w.spend(here)
	if depth > 0 {
		next.Parent = w.stack[depth-1]
	} else if w.isMain(next) {
		next.Main, w.program = true, ""
	}
	w.adopt(next)
	w.stack = append(w.stack, next)
	w.modules = append(w.modules, next)
	w.last = next
}

// isMain tells whether a module is what -m runs. Of a package that is its __main__.
func (w *walker) isMain(m *Module) bool {
	if w.program == "" || m.Open.file.name == "__init__" {
		return false
	}
	return m.Name == w.program || m.Name == w.program+".__main__"
}

// before is when an import began: before it opened the file, it looked for it.
func (w *walker) before(i int) point {
	m := &w.track.marks[i]
	here, from := point{m.time, m.times}, w.at
	if w.awake.time > from.time {
		from = w.awake // what looks for a file may be kept waiting, but never sleeps
	}
	end, begin := progress(&here.times), progress(&from.times)
	if from.time == 0 || end <= begin {
		return here
	}
	at := w.reach(i, end-min(w.cal.Lead, (end-begin)/2))
	if at.time < from.time {
		return from
	}
	return at
}

// reach is the moment before a mark at which the thread had made some progress.
func (w *walker) reach(i int, target uint64) point {
	for i > 0 && progress(&w.track.marks[i-1].times) > target {
		i--
	}
	b := &w.track.marks[i]
	to := point{b.time, b.times}
	from := w.at
	if i > 0 && w.track.marks[i-1].time > from.time {
		from = point{w.track.marks[i-1].time, w.track.marks[i-1].times}
	}
	return between(from, to, target)
}

// nested is how much of a step an import is deeper at least than the one that it is part of.
const nested = 0.9

// depthFor tells how many of the imports that went on still do, since one is at some depth of the stack.
func (w *walker) depthFor(next *Module) int {
	if w.cal.Step == 0 {
		return 0
	}
	depth := len(w.stack)
	for depth > 0 {
		top := w.stack[depth-1]
		deeper := int64(top.base - next.base)
		if abs(deeper) < otherStack && float64(deeper) >= nested*float64(w.cal.Step) && !w.impossible(top, next) {
			break
		}
		depth--
	}
	return depth
}

// impossible tells whether an import can't be part of another, although it is as deep as if it were. Modules that
// are frozen open nothing: what they ask for looks like a part of whatever was imported at their depth before.
func (w *walker) impossible(outer, inner *Module) bool {
	switch {
	case levelsBelow(outer.Name, "encodings") > 0:
		// Python imports its first codec itself and goes on at the same depth with site.
		return !codecNeeds[inner.Name] && inner.Name != "encodings" && !strings.HasPrefix(inner.Name, "_")
	case inner.Name == "importlib._abc":
		level := float64(outer.base-inner.base) < 1.5*float64(w.cal.Step)
		return level && outer.Name != "importlib.abc" && outer.Name != "importlib.util"
	}
	return false
}

// codecNeeds are the modules that codecs import.
var codecNeeds = map[string]bool{
	"codecs": true, "stringprep": true, "unicodedata": true, "re": true, "binascii": true, "zlib": true, "bz2": true,
	"io": true,
}

// adopt makes a package, imported only because its submodule was asked for, a part of the submodule's
// import: that is one level shallower, and comes straight after all that the package asked for.
func (w *walker) adopt(next *Module) {
	for p := w.last; p != nil; p = p.Parent {
		levels := levelsBelow(next.Name, p.Name)
		if levels == 0 {
			continue
		}
		// A level that is not open in between is a namespace package, which has no file.
		if w.cal.onBehalf(int64(next.base-p.base), levels) {
			p.Parent, next.Start = next, p.Start
		}
		return
	}
}

// observe takes in how deep the stack is at a mark: imports that would be deeper have ended since the
// mark before.
func (w *walker) observe(i int) {
	m := &w.track.marks[i]
	depth := len(w.stack)
	for depth > 0 {
		shallower := int64(m.sp - w.stack[depth-1].base)
		if shallower <= int64(w.cal.Ceiling) || shallower >= otherStack {
			break
		}
		depth--
	}
	if w.cal.Step == 0 || depth == len(w.stack) {
		return
	}
	for _, ended := range w.stack[depth:] {
		ended.EndSeen = true
	}
	before := w.at
	if i > 0 {
		before = w.lastSeen(i)
	}
	middle := (progress(&before.times) + progress(&m.times)) / 2
	w.closeTo(depth, w.reach(i, middle))
}

// lastSeen is the last moment before a mark at which the depth of the stack was known.
func (w *walker) lastSeen(i int) point {
	for i--; i >= 0 && w.track.marks[i].time > w.at.time; i-- {
		if m := &w.track.marks[i]; m.sp != 0 {
			return point{m.time, m.times}
		}
	}
	return w.at
}

// spend gives the time up to a moment to the innermost import.
func (w *walker) spend(to point) {
	if n := len(w.stack); n > 0 && !w.stack[n-1].Main {
		spent := since(&to.times, &w.at.times)
		w.stack[n-1].Self.Add(&spent)
	}
	w.at = to
}

// closeTo ends all imports but the outermost few.
func (w *walker) closeTo(depth int, at point) {
	if depth == len(w.stack) {
		return
	}
	if at.time < w.at.time { // where events were lost, a pause may seem to have begun before what came in it
		at = w.at
	}
	w.spend(at)
	for len(w.stack) > depth {
		w.stack[len(w.stack)-1].End = at.time
		w.stack = w.stack[:len(w.stack)-1]
	}
}

func (w *walker) closeAll(at point) { w.closeTo(0, at) }

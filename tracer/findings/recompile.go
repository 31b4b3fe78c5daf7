package findings

import (
	"fmt"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Below this, compiling is not worth a finding.
const leastRecompile = 100e6

// recompile looks for modules whose source was compiled because their bytecode was of no use.
type recompile struct{ timeline.Discard }

func newRecompile(uint64) Detector { return &recompile{} }

// cause is why bytecode was of no use.
type cause struct{ what, remedy string }

const (
	compileAtBuild = "compile when the image is built: python3 -m compileall --invalidation-mode unchecked-hash DIRECTORY"
	errnoReadOnly  = 30
	errnoAccess    = 13
	errnoPerm      = 1
)

// causeOf says why a module was compiled. Not every detail can be seen: only opens are.
func causeOf(in *python.Interpreter, c python.Cache) cause {
	stale := c.State == python.Stale
	kind := "no bytecode was there"
	switch {
	case stale:
		kind = "the bytecode did not fit the time or size of the source (an image tool that resets file times does that)"
	case c.Errno == errnoAccess || c.Errno == errnoPerm:
		kind = "the bytecode could not be read"
	}
	switch {
	case c.WriteErrno == errnoReadOnly:
		return cause{kind + "; on a read-only file system it can't be written, so this is done at every boot", compileAtBuild}
	case c.WriteErrno != 0:
		return cause{kind + "; it could not be written, so this is done at every start", compileAtBuild +
			", or give the service a PYTHONPYCACHEPREFIX that it may write to and that is kept"}
	case c.Written:
		return cause{kind + "; it was written, so the next start finds it if the file system is kept", compileAtBuild}
	case stale && in.WritesBytecode:
		return cause{"the bytecode says that a hash of its source must be checked (checked-hash), so the source was read, " +
			"and not compiled", "use unchecked-hash: python3 -m compileall --invalidation-mode unchecked-hash DIRECTORY"}
	case stale:
		return cause{"the bytecode did not fit the source, or says that its hash must be checked (checked-hash); nothing was " +
			"written (PYTHONDONTWRITEBYTECODE, -B, or a directory that can't be made), so this is done at every start", compileAtBuild}
	}
	return cause{kind + ", and none was written (PYTHONDONTWRITEBYTECODE, -B, or a directory that can't be made), so this is " +
		"done at every start", compileAtBuild}
}

// recompiled is all that was compiled for one cause.
type recompiled struct {
	cause
	cost      uint64
	modules   int
	files     map[*timeline.File]uint64
	processes map[*timeline.Process]bool
}

// Find implements Detector.
func (*recompile) Find(r *Recording) (found []Finding) {
	byCause := map[cause]*recompiled{}
	var order []*recompiled
	for _, in := range r.Interpreters {
		for _, m := range in.Modules {
			c := m.Open.Cache
			if !c.Compiled() {
				continue
			}
			why := causeOf(in, c)
			group := byCause[why]
			if group == nil {
				group = &recompiled{why, 0, 0, map[*timeline.File]uint64{}, map[*timeline.Process]bool{}}
				byCause[why] = group
				order = append(order, group)
			}
			group.modules++
			group.cost += m.Self.Sum()
			group.files[c.Source()] += m.Self.Sum()
			group.processes[in.Process] = true
		}
	}
	for _, g := range order {
		if g.cost >= leastRecompile {
			found = append(found, g.finding())
		}
	}
	return found
}

func (g *recompiled) finding() Finding {
	f := Finding{
		ID: "recompiled-modules", Title: "Python modules are compiled again", Cost: g.cost,
		Evidence: []string{
			fmt.Sprintf("%d times a source was compiled or checked, %d files in %d processes: with running them, that took %s",
				g.modules, len(g.files), len(g.processes), seconds(g.cost)),
			g.what,
		},
		Remedy: g.remedy,
	}
	if len(g.processes) == 1 {
		for p := range g.processes {
			f.PID, f.Unit = p.PID, unitName(p)
		}
	}
	var files []*timeline.File
	for file := range g.files {
		files = append(files, file)
	}
	sort.Slice(files, func(i, j int) bool {
		a, b := g.files[files[i]], g.files[files[j]]
		return a > b || a == b && files[i].Path < files[j].Path
	})
	var names []string
	for _, file := range files[:min(3, len(files))] {
		names = append(names, fmt.Sprintf("%s %s", file.Path, seconds(g.files[file])))
	}
	f.Evidence = append(f.Evidence, "longest: "+strings.Join(names, ", "))
	return f
}

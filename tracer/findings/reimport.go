package findings

import (
	"fmt"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Processes of one family import again what one of them could have held for all. The thresholds, without waits
// for a CPU:
const (
	// All children together; a preloaded server's children open next to nothing.
	leastReimport = 100e6
	// In each of them, on average.
	leastPerChild = 20e6
	fewChildren   = 2
)

// reimport looks for children that import what their siblings import, too.
type reimport struct{ timeline.Discard }

func newReimport(uint64) Detector { return &reimport{} }

// family is a parent and the Python children that it started in one way.
type family struct {
	parent   *timeline.Process
	forked   bool
	children []*python.Interpreter
}

// Find implements Detector.
func (*reimport) Find(r *Recording) (found []Finding) {
	parents := map[*timeline.Process]*python.Interpreter{}
	for _, in := range r.Interpreters {
		parents[in.Process] = in // the last program of a process
	}
	for _, f := range familiesOf(r.Interpreters) {
		if finding, ok := f.judge(parents); ok {
			found = append(found, finding)
		}
	}
	return found
}

func familiesOf(interpreters []*python.Interpreter) (list []*family) {
	type key struct {
		parent *timeline.Process
		forked bool
	}
	byKey := map[key]*family{}
	for _, in := range interpreters {
		parent := in.Process.Parent
		// A child that was started as a program of its own is one of a family only if Python says so.
		if parent == nil || !in.Forked && !isSpawned(in) {
			continue
		}
		k := key{parent, in.Forked}
		if byKey[k] == nil {
			byKey[k] = &family{parent: parent, forked: in.Forked}
			list = append(list, byKey[k])
		}
		byKey[k].children = append(byKey[k].children, in)
	}
	return list
}

// isSpawned recognises what multiprocessing starts anew for each child.
func isSpawned(in *python.Interpreter) bool {
	return strings.Contains(in.Program, "multiprocessing.spawn") || argsHave(in.Process, "--multiprocessing-fork")
}

func argsHave(p *timeline.Process, arg string) bool {
	for _, a := range p.Argv {
		if strings.Contains(a, arg) {
			return true
		}
	}
	return false
}

// shared is what several children imported: for each child, the time of the outermost such imports.
type shared struct {
	files map[*timeline.File]bool
	time  timeline.Times
	most  uint64 // of one child
}

// sharedBy finds the application's modules that more than one child imported, or that the parent had opened.
func (f *family) sharedBy(parent *python.Interpreter) *shared {
	users := map[*timeline.File]int{}
	for _, child := range f.children {
		seen := map[*timeline.File]bool{}
		for _, m := range child.Modules {
			if !seen[m.Open.File] && isApplication(m) {
				seen[m.Open.File] = true
				users[m.Open.File]++
			}
		}
	}
	if parent != nil {
		for _, m := range parent.Modules {
			if users[m.Open.File] > 0 {
				users[m.Open.File]++
			}
		}
	}
	s := &shared{files: map[*timeline.File]bool{}}
	for _, child := range f.children {
		before := s.time.Sum()
		for _, m := range child.Roots {
			s.add(m, users)
		}
		s.most = max(s.most, s.time.Sum()-before)
	}
	return s
}

// add takes in an import with all below it if it is shared, else those parts that are.
func (s *shared) add(m *python.Module, users map[*timeline.File]int) {
	if users[m.Open.File] > 1 {
		s.time.Add(&m.Total)
		s.note(m, users)
		return
	}
	for _, c := range m.Children {
		s.add(c, users)
	}
}

func (s *shared) note(m *python.Module, users map[*timeline.File]int) {
	if users[m.Open.File] > 1 {
		s.files[m.Open.File] = true
	}
	for _, c := range m.Children {
		s.note(c, users)
	}
}

func (f *family) judge(parents map[*timeline.Process]*python.Interpreter) (Finding, bool) {
	parent := parents[f.parent]
	s := f.sharedBy(parent)
	n := uint64(len(f.children))
	if n < fewChildren || work(&s.time) < leastReimport || work(&s.time)/n < leastPerChild {
		return Finding{}, false
	}
	// One of them must import it in any case, unless the server did before.
	saved := s.time.Sum() - s.most
	what, remedy := f.kind(parent)
	return Finding{
		ID: "forkserver-reimport", Title: what + " import the application again", Cost: saved,
		Unit: unitName(f.parent), PID: f.parent.PID,
		Evidence: []string{
			fmt.Sprintf("%d children of pid %d (%s) import the same %d application files: %s in each, %s in all", n,
				f.parent.PID, f.parent.Comm(), len(s.files), seconds(s.time.Sum()/n), seconds(s.time.Sum())),
			split(&s.time),
			"files: " + strings.Join(fileNames(s.files), ", "),
			"what the parent had loaded of these packages: " + f.preloaded(parent, s),
		},
		Remedy: remedy,
	}, true
}

func fileNames(files map[*timeline.File]bool) (names []string) {
	for f := range files {
		names = append(names, f.Path)
	}
	sort.Strings(names)
	if n := len(names); n > 4 {
		names = append(names[:4], fmt.Sprintf("%d more", n-4))
	}
	return names
}

// preloaded says what of the same packages the parent had imported itself before the first child did.
func (f *family) preloaded(parent *python.Interpreter, s *shared) string {
	packages := map[string]bool{}
	for _, child := range f.children {
		for _, m := range child.Modules {
			if s.files[m.Open.File] {
				packages[topLevel(m.Name)] = true
			}
		}
	}
	var names []string
	if parent != nil {
		for _, m := range parent.Modules {
			if isApplication(m) && packages[topLevel(m.Name)] && m.Open.Time < f.children[0].Opens[0].Time {
				names = append(names, m.Name)
			}
		}
	}
	switch n := len(names); n {
	case 0:
		return "nothing of them"
	case 1:
		return "only " + names[0]
	default:
		return fmt.Sprintf("%d modules of the same packages, the last of them %s", n, names[n-1])
	}
}

func topLevel(name string) string {
	top, _, _ := strings.Cut(name, ".")
	return top
}

// isForkServer recognises multiprocessing's fork server by what it runs, or by what it imported.
func isForkServer(parent *python.Interpreter) bool {
	if parent == nil {
		return false
	}
	if strings.Contains(parent.Program, "multiprocessing.forkserver") {
		return true
	}
	for _, m := range parent.Modules {
		if m.Name == "multiprocessing.forkserver" && argsHave(parent.Process, "forkserver") {
			return true
		}
	}
	return false
}

// kind says what sort of family it is, and what helps.
func (f *family) kind(parent *python.Interpreter) (what, remedy string) {
	version := f.children[0].Version
	switch {
	case !f.forked:
		return "processes that multiprocessing spawns", "use the fork server instead (multiprocessing.set_start_method('forkserver')) and " +
			"let it preload the application by name (set_forkserver_preload(['APPLICATION'])), or keep what __main__ imports small"
	case isForkServer(parent):
		remedy := "name the application's modules in multiprocessing.set_forkserver_preload(['APPLICATION']) before the first " +
			"process is started, and start the server early (multiprocessing.forkserver.ensure_running())"
		if mainNotPreloaded(version) {
			remedy += "; do not rely on '__main__' being preloaded: Python " + version + " before 3.13.8 does not do it " +
				"(CPython issue 126631), and a console script's __main__ is only the script"
		}
		return "children of a fork server", remedy
	}
	return "forked children", "import the application in the parent before it forks (gunicorn: --preload; uwsgi: no lazy-apps), " +
		"so that the children share it"
}

// mainNotPreloaded tells whether a version of Python has releases whose fork server can't preload __main__.
func mainNotPreloaded(version string) bool {
	switch version {
	case "3.8", "3.9", "3.10", "3.11", "3.12", "3.13":
		return true
	}
	return false
}

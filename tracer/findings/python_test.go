package findings

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// module makes an import that took some milliseconds on a CPU itself, with what it asked for.
func module(name string, ms uint64, children ...*python.Module) *python.Module {
	m := &python.Module{
		Name: name, Children: children,
		Open: &python.Open{File: &timeline.File{Path: "/srv/app/" + strings.ReplaceAll(name, ".", "/") + ".py"}},
	}
	m.Self[timeline.Running] = ms * 1e6
	m.Total = m.Self
	for _, c := range children {
		c.Parent = m
		m.Total.Add(&c.Total)
	}
	return m
}

func modules(n int, prefix string, ms uint64) (list []*python.Module) {
	for i := range n {
		list = append(list, module(prefix+string(rune('a'+i)), ms))
	}
	return list
}

func interpreterOf(roots ...*python.Module) *python.Interpreter {
	in := &python.Interpreter{
		Process: &timeline.Process{PID: 7}, Program: "/srv/app.py", Roots: roots,
		Calibration: &python.Calibration{Step: 1600, Differences: 100, Agree: 90},
	}
	for _, m := range roots {
		in.Modules = append(in.Modules, allOf(m)...)
	}
	return in
}

func allOf(m *python.Module) []*python.Module {
	list := []*python.Module{m}
	for _, c := range m.Children {
		list = append(list, allOf(c)...)
	}
	return list
}

func TestHeavyImport(t *testing.T) {
	waiting := module("waits", 1)
	waiting.Self[timeline.Runnable] = 5e9
	waiting.Total = waiting.Self
	for _, c := range []struct {
		name string
		root *python.Module
		want string // "module cost in ms", by spaces
	}{
		{"nothing heavy", module("main", 100, module("a", 100)), ""},
		{"the branch's end is named", module("main", 10, module("a", 10, module("b", 900))), "b 900"},
		{"a module that is heavy by itself and by what it asks for", module("main", 10, module("a", 600, module("b", 600))), "a 1200"},
		{"two heavy branches", module("main", 10, module("a", 700), module("b", 800)), "a 700 b 800"},
		{"many small ones below", module("main", 10, module("a", 10, modules(9, "x", 100)...)), "a 910"},
		{"waits for a CPU are no work", waiting, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range newHeavyImport(0).Find(&Recording{Interpreters: []*python.Interpreter{interpreterOf(c.root)}}) {
				got = append(got, strings.Fields(f.Title)[1], strconv.FormatUint(f.Cost/1e6, 10))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestEagerPackage(t *testing.T) {
	for _, c := range []struct {
		name string
		root *python.Module
		want bool
	}{
		{"twelve submodules", module("pkg", 10, modules(12, "pkg.", 30)...), true},
		{"few submodules", module("pkg", 10, modules(5, "pkg.", 100)...), false},
		{"cheap submodules", module("pkg", 10, modules(12, "pkg.", 5)...), false},
		{"others cost more", module("pkg", 10, append(modules(12, "pkg.", 30), module("numpy", 900))...), false},
		{"below one of its own", module("pkg", 10, module("pkg.all", 1, modules(12, "pkg.x.", 30)...)), true},
		{"other packages", module("pkg", 10, modules(12, "pkgs.", 30)...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := interpreterOf(module("main", 5, c.root))
			found := newEager(0).Find(&Recording{Interpreters: []*python.Interpreter{in}})
			if (len(found) == 1) != c.want {
				t.Errorf("%d findings", len(found))
			}
			for _, f := range found {
				if !strings.Contains(strings.Join(f.Evidence, "\n"), "its own submodules, which take 0.36") {
					t.Errorf("evidence %q", f.Evidence)
				}
			}
			heavy := newHeavyImport(0).Find(&Recording{Interpreters: []*python.Interpreter{in}})
			if c.want && len(heavy) > 0 {
				t.Error("the same is found as a heavy import, too")
			}
		})
	}
}

func TestCauseOfRecompile(t *testing.T) {
	writes, keeps := &python.Interpreter{WritesBytecode: true}, &python.Interpreter{}
	for _, c := range []struct {
		in    *python.Interpreter
		cache python.Cache
		want  string
	}{
		{writes, python.Cache{State: python.Missing, Errno: 2, Written: true}, "no bytecode was there; it was written"},
		{writes, python.Cache{State: python.Missing, Errno: 13, WriteErrno: 13}, "the bytecode could not be read; it could not be written"},
		{writes, python.Cache{State: python.Missing, Errno: 2, WriteErrno: 30}, "read-only file system"},
		{keeps, python.Cache{State: python.Missing, Errno: 2}, "none was written"},
		{writes, python.Cache{State: python.Stale}, "(checked-hash), so the source was read, and not compiled"},
		{keeps, python.Cache{State: python.Stale}, "did not fit the source, or says"},
		{writes, python.Cache{State: python.Stale, Written: true}, "did not fit the time or size"},
	} {
		if got := causeOf(c.in, c.cache).what; !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q lacks %q", c.cache, got, c.want)
		}
	}
}

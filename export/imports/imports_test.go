package imports

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// The stories of tracer/python are recordings of small programs.
const stories = "../../tracer/python/testdata/"

func story(t *testing.T, name string) *Imports {
	t.Helper()
	f, err := os.Open(stories + name + ".trace")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := tracefile.ParseText(name, f)
	if err != nil {
		t.Fatal(err)
	}
	im, err := Build(src)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// TestOutput compares each form with a golden file that is named after the command that prints it.
func TestOutput(t *testing.T) {
	text := func(o Options) func(io.Writer, *Imports) error {
		return func(w io.Writer, im *Imports) error { return Text(w, im, o) }
	}
	for _, c := range []struct {
		name, story string
		write       func(io.Writer, *Imports) error
	}{
		{"imports_decorator.txt", "decorator", text(Options{Sort: ByCumulative, Top: DefaultTop})},
		{"imports_decorator_min_20ms.txt", "decorator", text(Options{Sort: ByCumulative, Top: 0, Min: 20e6})},
		{"imports_decorator_flat_sort_self_top_5.txt", "decorator", text(Options{Sort: BySelf, Flat: true, Top: 5})},
		{"imports_exec_top_0.txt", "exec", text(Options{Sort: ByCumulative})},
		{"imports_fails-half-way.txt", "fails-half-way", text(Options{Sort: ByCumulative, Top: DefaultTop})},
		{"imports_behalf.json", "behalf", JSON},
		{"imports_behalf_why_helper.txt", "behalf", func(w io.Writer, im *Imports) error { return Why(w, im, "helper", "") }},
		{"imports_behalf_format_importtime.txt", "behalf", func(w io.Writer, im *Imports) error {
			return ImportTime(w, im.Interpreters[0])
		}},
		{"imports_lazy-package_check.txt", "lazy-package", func(w io.Writer, im *Imports) error {
			f, err := os.Open(stories + "lazy-package.importtime")
			if err != nil {
				return err
			}
			defer f.Close()
			log, err := python.ParseImportTime(f)
			if err != nil {
				return err
			}
			return Check(w, im, log)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.write(&out, story(t, c.story)); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, c.name, out.Bytes())
			if strings.HasSuffix(c.name, ".json") && !json.Valid(out.Bytes()) {
				t.Error("no valid JSON")
			}
			for _, line := range strings.Split(out.String(), "\n") {
				if strings.HasSuffix(c.name, ".txt") && len(line) > 80 && !strings.Contains(c.name, "check") {
					t.Errorf("over 80 columns: %s", line)
				}
			}
		})
	}
}

// TestRoundTrip reads what ImportTime writes: it must say the same as the tree it is from.
func TestRoundTrip(t *testing.T) {
	in := story(t, "decorator").Interpreters[0]
	var out bytes.Buffer
	if err := ImportTime(&out, in); err != nil {
		t.Fatal(err)
	}
	log, err := python.ParseImportTime(&out)
	if err != nil {
		t.Fatal(err)
	}
	a := python.Compare(in, log)
	if a.Entries != len(in.Modules) || a.SameParent != len(in.Modules) {
		t.Errorf("%d of %d modules, %d with the same importer", a.Entries, len(in.Modules), a.SameParent)
	}
	for _, p := range a.Times {
		if d := int64(p.Cumulative) - int64(p.LogCumulative); d < -500 || d > 500 {
			t.Errorf("%s: %d ns, %d ns in the log", p.Module, p.Cumulative, p.LogCumulative)
		}
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter Filter
		want   int // interpreters; 0: an error
	}{
		{"all", Filter{}, 2},
		{"by script", Filter{Process: "main.py"}, 1},
		{"by the other script", Filter{Process: "second.py"}, 1},
		{"by program", Filter{Process: "python3.11"}, 2},
		{"by unit", Filter{Unit: "nothing.service"}, 0},
		{"by pid", Filter{PID: 1}, 0},
	} {
		im := story(t, "exec")
		err := im.Select(c.filter)
		if c.want == 0 {
			if err == nil || !strings.Contains(err.Error(), "main.py (pid ") {
				t.Errorf("%s: error %v", c.name, err)
			}
		} else if err != nil || len(im.Interpreters) != c.want {
			t.Errorf("%s: %d interpreters, error %v", c.name, len(im.Interpreters), err)
		}
	}
}

func TestWhyNot(t *testing.T) {
	err := Why(io.Discard, story(t, "behalf"), "sys", "")
	if err == nil || !strings.Contains(err.Error(), "no interpreter imported sys") {
		t.Errorf("error %v", err)
	}
	err = Why(io.Discard, story(t, "behalf"), "helper", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "has none of the sources") {
		t.Errorf("error %v", err)
	}
}

// TestWhyElse searches sources for who else imports a module.
func TestWhyElse(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"srv/story/top/__init__.py":         "import helper\n",
		"srv/story/top/middle/__init__.py":  "",
		"srv/story/top/middle/leaf.py":      "import os, helper as h  # twice\nfrom . import x\nfrom helper import y\nhelper = 1\n",
		"srv/story/self_made/__init__.py":   "from . import inner\n",
		"srv/story/self_made/inner.py":      "def f():\n    import helper.sub\nimport helper3\n",
		"srv/story/helper2.py":              "import helpers\n",
		"usr/lib/python3.11/encodings/x.py": "import helper\n", // not imported
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := Why(&out, story(t, "behalf"), "helper", root); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(out.String(), "\n") {
		if strings.Contains(l, ".py:") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	want := []string{
		"/srv/story/top/__init__.py:1: import helper",
		"/srv/story/top/middle/leaf.py:1: import os, helper as h  # twice",
		"/srv/story/top/middle/leaf.py:3: from helper import y",
		"/srv/story/self_made/inner.py:2: import helper.sub",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestImportsModule(t *testing.T) {
	for _, c := range []struct {
		line, pkg, module string
		want              bool
	}{
		{"import a", "", "a", true},
		{"import ab", "", "a", false},
		{"import x, a.b as c", "", "a", true},
		{"from a import b", "", "a", true},
		{"from a import b", "", "a.b", true},
		{"from a import (b, c)", "", "a.c", true},
		{"from a import b as c", "", "a.c", false},
		{"from . import b", "a", "a.b", true},
		{"from .b import c", "a", "a.b", true},
		{"from ..b import c", "a.x", "a.b", true},
		{"from ..b import c", "a.x", "a.x.b", false},
		{"# import a", "", "a", false},
		{"important = 1", "", "ant", false},
	} {
		if got := importsModule(c.line, c.pkg, c.module); got != c.want {
			t.Errorf("%q in %q imports %q: %v", c.line, c.pkg, c.module, got)
		}
	}
}

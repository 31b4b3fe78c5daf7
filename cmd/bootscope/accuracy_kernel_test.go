//go:build kerneltest

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// corpus are real programs: what they run, and the Debian package that they need, if any.
var corpus = []struct{ name, code, pkg string }{
	{"standard library", `import asyncio, http.server, email.message, xml.etree.ElementTree, concurrent.futures, multiprocessing, unittest, sqlite3, decimal, logging.config, argparse, urllib.request, ssl, pydoc, ctypes.util, xmlrpc.client, tarfile, zipfile, importlib.metadata`, ""},
	{"pydantic", "import pydantic", "python3-pydantic"},
	{"fastapi", "import fastapi", "python3-fastapi"},
	{"sqlalchemy", "import sqlalchemy, sqlalchemy.orm", "python3-sqlalchemy"},
	{"aiohttp", "import aiohttp", "python3-aiohttp"},
	{"requests", "import requests", "python3-requests"},
	{"jinja2", "import jinja2", "python3-jinja2"},
	{"numpy", "import numpy", "python3-numpy"},
	{"twisted", "import twisted.internet.reactor, twisted.web.server", "python3-twisted"},
	{"dbus", "import dbus, dbus.service, dbus.mainloop.glib", "python3-dbus"},
	{"gi", "import gi; gi.require_version('Gio', '2.0'); from gi.repository import Gio", "python3-gi"},
	{"-m http.server", "-m http.server --help", ""},
	{"-m unittest", "-m unittest --help", ""},
	{"-m pydoc", "-m pydoc json", ""},
}

// The bounds that hold for each program, and for all programs of an interpreter.
const (
	leastSameParent  = 0.98
	leastSameOverall = 0.99
	mostMedianError  = 0.03
	mostP95Error     = 0.15 // of imports from 50 ms
	busyMachine      = 0.25 // share of waiting for a CPU from which on times of single imports say little
	fewTimes         = 20
)

// score is how far the tree of one program is right.
type score struct {
	program, version string
	matched, same    int
	times            []python.TimePair
	total, waited    uint64
	confidence       python.Confidence
	differ           []python.Difference
}

// TestImportAccuracy runs real programs under -X importtime and compares the tree that the recording gives
// with what the same run says. -update writes the table to docs/accuracy.md.
func TestImportAccuracy(t *testing.T) {
	var all []*score
	versions := pythons(t)
	for _, name := range sortedKeys(versions) {
		exe := versions[name]
		t.Run(name, func(t *testing.T) {
			var scores []*score
			cache := t.TempDir()
			for _, p := range corpus {
				t.Run(p.name, func(t *testing.T) {
					if p.pkg != "" && exe == debianPython && exec.Command("dpkg", "-s", p.pkg).Run() != nil {
						t.Skipf("package %s is not installed", p.pkg)
					}
					if exe != debianPython {
						t.Setenv("PYTHONPATH", "/usr/lib/python3/dist-packages")
						t.Setenv("PYTHONPYCACHEPREFIX", cache)
					}
					s := usual(t, func() *score { return measure(t, exe, p.name, p.code) })
					s.version = name
					scores = append(scores, s)
					s.check(t, exe == debianPython || p.pkg != "" || p.code[0] != '-')
				})
			}
			checkOverall(t, scores)
			all = append(all, scores...)
		})
	}
	table := accuracyTable(all)
	t.Logf("accuracy of the import trees:\n%s", table)
	if golden.Updating() {
		if err := os.WriteFile("../../docs/accuracy.md", []byte(accuracyPage(table, all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// usual measures, and twice more if that was under the bound, which happens to one recording in hundreds of a
// machine that is busy. The one in the middle counts.
func usual(t *testing.T, measure func() *score) *score {
	t.Helper()
	first := measure()
	if first.share() >= leastSameParent {
		return first
	}
	scores := []*score{first, measure(), measure()}
	slices.SortFunc(scores, func(a, b *score) int { return cmp.Compare(a.share(), b.share()) })
	t.Logf("measured three times: %.1f, %.1f and %.1f %%", 100*scores[0].share(), 100*scores[1].share(), 100*scores[2].share())
	return scores[1]
}

// share is of the modules with the importer of the log.
func (s *score) share() float64 { return float64(s.same) / float64(max(s.matched, 1)) }

func measure(t *testing.T, exe, name, code string) *score {
	t.Helper()
	args := []string{"-c", code}
	if strings.HasPrefix(code, "-m ") {
		args = strings.Fields(code)
	}
	r := recordPython(t, t.TempDir(), exe, args, "accuracy")
	a := python.Compare(r.in, r.log)
	s := &score{
		program: name, matched: a.Matched, same: a.SameParent, times: a.Times, differ: a.Differ,
		confidence: r.in.Calibration.Confidence(),
	}
	for _, m := range r.in.Roots {
		s.total += m.Total.Sum()
		s.waited += m.Total[timeline.Runnable]
	}
	return s
}

// check fails a program that is under the bound. Programs that import little, late and in functions are only
// listed for other interpreters than Debian's: there a single module is over a hundredth.
func (s *score) check(t *testing.T, bound bool) {
	t.Helper()
	for _, d := range s.differ {
		t.Logf("%s: asked for by %q in the log, by %q here", d.Module, d.InLog, d.InRecording)
	}
	if bound && s.share() < leastSameParent {
		t.Errorf("%d of %d modules have the same importer, that is under %.0f %%", s.same, s.matched, 100*leastSameParent)
	}
}

func checkOverall(t *testing.T, scores []*score) {
	t.Helper()
	sum := add(scores)
	if sum.share() < leastSameOverall {
		t.Errorf("%d of %d modules have the same importer, that is under %.0f %%", sum.same, sum.matched, 100*leastSameOverall)
	}
	n, median, _ := python.TimeErrors(sum.times, 10e6)
	if n >= fewTimes && median > mostMedianError {
		t.Errorf("cumulative times from 10 ms: the median error is %.1f %%", 100*median)
	}
	n, _, p95 := python.TimeErrors(sum.times, 50e6)
	if n < fewTimes || p95 <= mostP95Error {
		return
	}
	if float64(sum.waited) > busyMachine*float64(sum.total) {
		t.Logf("cumulative times from 50 ms: the 95th percentile of errors is %.1f %%, but the programs waited for a CPU %.0f %% of their time",
			100*p95, 100*float64(sum.waited)/float64(sum.total))
		return
	}
	t.Errorf("cumulative times from 50 ms: the 95th percentile of errors is %.1f %%", 100*p95)
}

func add(scores []*score) *score {
	sum := &score{program: "all"}
	for _, s := range scores {
		sum.version = s.version
		sum.matched += s.matched
		sum.same += s.same
		sum.total += s.total
		sum.waited += s.waited
		sum.times = append(sum.times, s.times...)
	}
	return sum
}

// accuracyTable has a row for each program and a column for each interpreter, and the times below.
func accuracyTable(all []*score) string {
	var versions []string
	by := map[string][]*score{}
	for _, s := range all {
		if by[s.version] == nil {
			versions = append(versions, s.version)
		}
		by[s.version] = append(by[s.version], s)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "| program | %s |\n|---%s|\n", strings.Join(versions, " | "), strings.Repeat("|---", len(versions)))
	row := func(name string, cell func(version string) string) {
		fmt.Fprintf(&b, "| %s ", name)
		for _, v := range versions {
			fmt.Fprintf(&b, "| %s ", cell(v))
		}
		fmt.Fprintln(&b, "|")
	}
	for _, p := range corpus {
		row(p.name, func(v string) string {
			i := slices.IndexFunc(by[v], func(s *score) bool { return s.program == p.name })
			if i < 0 {
				return "-"
			}
			return by[v][i].cell()
		})
	}
	row("**all**", func(v string) string { return "**" + add(by[v]).cell() + "**" })
	row("median error, from 10 ms", func(v string) string {
		n, median, _ := python.TimeErrors(add(by[v]).times, 10e6)
		return fmt.Sprintf("%.1f %% of %d", 100*median, n)
	})
	row("95th percentile, from 50 ms", func(v string) string {
		n, _, p95 := python.TimeErrors(add(by[v]).times, 50e6)
		return fmt.Sprintf("%.1f %% of %d", 100*p95, n)
	})
	row("waited for a CPU", func(v string) string {
		s := add(by[v])
		return fmt.Sprintf("%.0f %%", 100*float64(s.waited)/float64(max(s.total, 1)))
	})
	return b.String()
}

func (s *score) cell() string {
	return fmt.Sprintf("%.1f %% of %d", 100*s.share(), s.matched)
}

func accuracyPage(table string, all []*score) string {
	kernel, _ := exec.Command("uname", "-srm").Output()
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown CPU"
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(cpu); m != nil {
		model = string(m[1])
	}
	return fmt.Sprintf(`# How right the import trees are

`+"`make accuracy`"+` records real programs while Python itself logs their imports (`+"`-X importtime`"+`), and compares the two. A module counts as right if
the recording has the same importer as the log. Modules that never open a file (built in, frozen, not found) are taken for a part of
their importer in both. What `+"`importlib.import_module`"+` imports is in no such log and is not compared. A program under 98 %% is
measured three times, and the one in the middle counts. The last rows are the errors of
the cumulative time, for imports that took that long by the log; where programs had to wait for a CPU much, a wait between two
opens may be given to the wrong one of two modules, and the errors are larger.

Measured on %s, %s. "debian" is Debian's own Python 3.11, the others were built from source.

%s`, strings.TrimSpace(string(kernel)), model, table)
}

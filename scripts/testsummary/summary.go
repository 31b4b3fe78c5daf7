package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// slowSeconds is how long a test must take to get a line of its own when it passes.
const slowSeconds = 10

// testEvent is a line of go test -json; see go doc test2json.
type testEvent struct {
	Action, Package, Test, Output string
	ImportPath                    string // instead of Package, for what the build says
	Elapsed                       float64
}

type testName struct{ pkg, test string }

// summary turns the events of go test into text and counts.
type summary struct {
	w       io.Writer
	logs    bool
	results results
	byPkg   map[string]*counts    // of packages that have not ended
	output  map[testName][]string // of tests that have not ended
}

func newSummary(w io.Writer, logs bool) *summary {
	return &summary{w: w, logs: logs, results: results{}, byPkg: map[string]*counts{}, output: map[testName][]string{}}
}

// read takes events until the end. A line that is no event goes out as it is.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e testEvent
		switch {
		case len(line) == 0:
		case line[0] != '{' || json.Unmarshal(line, &e) != nil:
			fmt.Fprintf(s.w, "%s\n", strings.TrimRight(string(line), "\n"))
		default:
			s.handle(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) handle(e testEvent) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.w, e.Output)
	case "output":
		if !frame(e.Output) {
			s.output[name] = append(s.output[name], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			s.endTest(name, e)
		} else {
			s.endPackage(name, e)
		}
		delete(s.output, name)
	}
}

// frame tells lines that go test prints around a test's own: what happened is said here anyway.
func frame(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, prefix := range []string{"=== ", "--- PASS", "--- SKIP", "--- FAIL"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func (s *summary) endTest(name testName, e testEvent) {
	title := fmt.Sprintf("%s %s (%.1f s)", short(name.pkg), name.test, e.Elapsed)
	output := strings.Join(s.output[name], "")
	switch e.Action {
	case "fail":
		s.note(name, outcome{result: failed, output: output})
		fmt.Fprintf(s.w, "FAIL %s\n%s", title, output)
	case "skip":
		s.note(name, outcome{result: skipped})
		fmt.Fprintf(s.w, "skip %s %s: %s\n", short(name.pkg), name.test, reason(output))
	default:
		s.note(name, outcome{result: passed})
		if s.logs && output != "" {
			fmt.Fprintf(s.w, "pass %s\n%s", title, output)
		} else if e.Elapsed >= slowSeconds {
			fmt.Fprintf(s.w, "pass %s\n", title)
		}
	}
}

func (s *summary) endPackage(name testName, e testEvent) {
	if e.Action == "fail" {
		s.endLeft(name.pkg)
	}
	c, output := s.countsOf(name.pkg), strings.Join(s.output[name], "")
	switch {
	case e.Action == "fail":
		if c.failed == 0 { // it didn't build, or it crashed outside any test
			s.note(name, outcome{result: failed, output: output})
		}
		fmt.Fprintf(s.w, "FAIL %s: %s\n%s", short(name.pkg), *c, output)
	case *c != counts{}:
		fmt.Fprintf(s.w, "ok   %s: %s (%.1f s)\n", short(name.pkg), *c, e.Elapsed)
	}
	delete(s.byPkg, name.pkg)
}

func (s *summary) note(name testName, o outcome) {
	s.results.add(name, o)
	s.countsOf(name.pkg).add(o.result)
}

// endLeft counts as failed the tests of a package that have said something and never ended.
func (s *summary) endLeft(pkg string) {
	for name, lines := range s.output {
		if name.pkg != pkg || name.test == "" {
			continue
		}
		output := strings.Join(lines, "")
		s.note(name, outcome{failed, output, true})
		fmt.Fprintf(s.w, "FAIL %s %s: did not end\n%s", short(name.pkg), name.test, output)
		delete(s.output, name)
	}
}

// finish counts as failed what began and never ended.
func (s *summary) finish() results {
	for pkg := range s.byPkg {
		s.endPackage(testName{pkg: pkg}, testEvent{Action: "fail"})
	}
	return s.results
}

func (s *summary) countsOf(pkg string) *counts {
	if s.byPkg[pkg] == nil {
		s.byPkg[pkg] = &counts{}
	}
	return s.byPkg[pkg]
}

// reason takes what a skipped test said from its output: "    file_test.go:12: the reason".
func reason(output string) string {
	text := strings.Join(strings.Fields(output), " ")
	if place, why, ok := strings.Cut(text, ": "); ok && strings.Contains(place, ".go:") {
		text = why
	}
	if text == "" {
		return "no reason given"
	}
	return text
}

// short leaves the module's name out of a package's path.
func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/bootscope/bootscope/")
}

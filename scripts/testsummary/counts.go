package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A result is how a test ended. When several runs had the same test, the largest counts: a failure
// anywhere is one, and a test that one run had to skip was made up for by another.
type result int

const (
	skipped result = iota + 1
	passed
	passedAgain // failed at first, and passed when it was run once more
	failed
)

var resultWords = map[result]string{skipped: "skipped", passed: "passed", passedAgain: "passed when run again", failed: "failed"}

// An outcome is how a test ended, and what it said if it failed, be it only at first.
type outcome struct {
	result
	output     string
	unfinished bool // it never said that it had ended
}

// results has each test once. A test with subtests counts as well as they do.
type results map[testName]outcome

func (r results) add(name testName, o outcome) {
	if o.result > r[name].result {
		r[name] = o
	}
}

// counts is how many tests ended how.
type counts struct{ passed, failed, skipped int }

func (c *counts) add(how result) {
	switch how {
	case passed, passedAgain:
		c.passed++
	case failed:
		c.failed++
	case skipped:
		c.skipped++
	}
}

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func (c counts) err() error {
	switch {
	case c.failed > 0:
		return fmt.Errorf("%d failed", c.failed)
	case c.passed == 0:
		return errors.New("no test passed: is the list of packages right?")
	}
	return nil
}

func (r results) counts() (c counts) {
	for _, o := range r {
		c.add(o.result)
	}
	return c
}

// save adds a line for each test to a file.
func (r results) save(file string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for name, o := range r {
		fmt.Fprintf(w, "%s\t%s\t%s\t%q\n", resultWords[o.result], name.pkg, name.test, o.output)
	}
	return errors.Join(w.Flush(), f.Close())
}

// printTotal prints the sum of what was saved, and before it, of every test that failed, what it said, be it only
// at first: the end of a build's output is what is read first, and may be all that is kept.
func printTotal(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("no test run has left its results: %w", err)
	}
	defer f.Close()
	all := results{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		words := strings.Split(lines.Text(), "\t")
		how := resultOf(words[0])
		if how == 0 || len(words) != 4 {
			return fmt.Errorf("%s:%d: %q is no result", file, n, lines.Text())
		}
		output, err := strconv.Unquote(words[3])
		if err != nil {
			return fmt.Errorf("%s:%d: the output is not quoted: %w", file, n, err)
		}
		all.add(testName{words[1], words[2]}, outcome{result: how, output: output})
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	all.printFailed(w)
	total := all.counts()
	fmt.Fprintln(w, total)
	return total.err()
}

// shownOutput is how much of the end of a failed test's output is printed again.
const shownOutput = 1200

func (r results) printFailed(w io.Writer) {
	byName := func(a, b testName) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.test, b.test))
	}
	for _, name := range slices.SortedFunc(maps.Keys(r), byName) {
		title, output := "FAIL", r[name].output
		switch r[name].result {
		case skipped, passed:
			continue
		case passedAgain:
			title = "passed when run again, failed at first:"
		}
		if len(output) > shownOutput {
			output = output[len(output)-shownOutput:]
			_, output, _ = strings.Cut(output, "\n")
		}
		fmt.Fprintf(w, "%s %s %s\n%s", title, short(name.pkg), name.test, output)
	}
}

func resultOf(word string) result {
	for how, w := range resultWords {
		if w == word {
			return how
		}
	}
	return 0
}

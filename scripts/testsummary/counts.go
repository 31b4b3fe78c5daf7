package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A result is how a test ended. When several runs had the same test, the largest counts: a failure
// anywhere is one, and a test that one run had to skip was made up for by another.
type result int

const (
	skipped result = iota + 1
	passed
	failed
)

var resultWords = map[result]string{skipped: "skipped", passed: "passed", failed: "failed"}

// results has each test once. A test with subtests counts as well as they do.
type results map[testName]result

func (r results) add(name testName, how result) { r[name] = max(r[name], how) }

// counts is how many tests ended how.
type counts struct{ passed, failed, skipped int }

func (c *counts) add(how result) {
	switch how {
	case passed:
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
	for _, how := range r {
		c.add(how)
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
	for name, how := range r {
		fmt.Fprintf(w, "%s\t%s\t%s\n", resultWords[how], name.pkg, name.test)
	}
	return errors.Join(w.Flush(), f.Close())
}

// printTotal prints the sum of what was saved.
func printTotal(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("no test run has left its results: %w", err)
	}
	defer f.Close()
	all := results{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		how := resultOf(words[0])
		if how == 0 || len(words) != 3 {
			return fmt.Errorf("%s: line %q is no result", file, lines.Text())
		}
		all.add(testName{words[1], words[2]}, how)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	total := all.counts()
	fmt.Fprintln(w, total)
	return total.err()
}

func resultOf(word string) result {
	for how, w := range resultWords {
		if w == word {
			return how
		}
	}
	return 0
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// counts is how many tests ended how. A test with subtests counts as well as they do.
type counts struct{ Passed, Failed, Skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

func (c counts) err() error {
	switch {
	case c.Failed > 0:
		return fmt.Errorf("%d failed", c.Failed)
	case c.Passed == 0:
		return errors.New("no test passed: is the list of packages right?")
	}
	return nil
}

// addCounts adds a line to a results file.
func addCounts(file string, c counts) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, c)
	return errors.Join(err, f.Close())
}

// printTotal prints the sum of a results file's lines.
func printTotal(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("no test run has left its counts: %w", err)
	}
	defer f.Close()
	var total counts
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c counts
		if _, err := fmt.Sscanf(lines.Text(), "%d passed, %d failed, %d skipped", &c.Passed, &c.Failed, &c.Skipped); err != nil {
			return fmt.Errorf("%s: line %q: %w", file, lines.Text(), err)
		}
		total.Passed += c.Passed
		total.Failed += c.Failed
		total.Skipped += c.Skipped
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Fprintln(w, total)
	return total.err()
}

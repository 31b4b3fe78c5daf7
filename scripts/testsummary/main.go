// Command testsummary runs go test so that a person can read what happened: a line for each package,
// the output of what failed, and each skipped test with its reason. It keeps the counts of several
// runs in a file, and -total prints their sum as the last line of a build.
//
//	testsummary [-results FILE] [-logs] -- ARGUMENTS OF GO TEST
//	testsummary -results FILE -total
//
// Its exit status is 1 if a test failed, and when no test ran at all.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	results := flag.String("results", "", "`file` to which the counts are added")
	total := flag.Bool("total", false, "print the sum of the counts in the results file, run nothing")
	logs := flag.Bool("logs", false, "print what passing tests log as well")
	flag.Parse()
	var err error
	if *total {
		err = printTotal(os.Stdout, *results)
	} else {
		err = runTests(os.Stdout, flag.Args(), *results, *logs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
}

// runTests runs go test and adds its counts to the results file, if there is one.
func runTests(w io.Writer, args []string, results string, logs bool) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := newSummary(w, logs)
	readErr := s.read(out)
	// What is left must be taken, or go test would wait for a reader for ever.
	_, copyErr := io.Copy(io.Discard, out)
	c, err := s.finish(), errors.Join(readErr, copyErr)
	if waitErr := cmd.Wait(); waitErr != nil && c.Failed == 0 {
		err = errors.Join(err, fmt.Errorf("go test: %w, though no test failed", waitErr))
		c.Failed++
	}
	if results != "" {
		err = errors.Join(err, addCounts(results, c))
	}
	return errors.Join(err, c.err())
}

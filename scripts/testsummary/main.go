// Command testsummary runs go test so that a person can read what happened: a line for each package,
// the output of what failed, and each skipped test with its reason. It keeps the results of several runs
// in a file; -total prints what failed once more, and the sum, each test once, as the last line of a build.
//
//	testsummary [-results FILE] [-logs] [-again] -- ARGUMENTS OF GO TEST
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
	"strings"
)

func main() {
	file := flag.String("results", "", "`file` to which the result of each test is added")
	total := flag.Bool("total", false, "print the sum of the results file, run nothing")
	logs := flag.Bool("logs", false, "print what passing tests log as well")
	again := flag.Bool("again", false, "run a few tests that failed once more, and say so: for tests that measure a machine which others use too")
	flag.Parse()
	var err error
	if *total {
		err = printTotal(os.Stdout, *file)
	} else {
		err = runTests(os.Stdout, flag.Args(), options{*file, *logs, *again})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
}

// options are what the command line says of a run.
type options struct {
	file  string // to which results are added, or ""
	logs  bool
	again bool
}

// runTests runs go test and adds its results to a file, if one is given.
func runTests(w io.Writer, args []string, o options) error {
	all, err := goTest(w, args, o.logs)
	if names := all.worthAnotherRun(); o.again && len(names) > 0 {
		fmt.Fprintln(w, "running again what failed:", strings.Join(names, ", "))
		second, againErr := goTest(w, append(args, "-run", "^("+strings.Join(names, "|")+")$"), o.logs)
		all.secondRun(second)
		err = errors.Join(err, againErr)
	}
	if o.file != "" {
		err = errors.Join(err, all.save(o.file))
	}
	fmt.Fprintln(w, "total:", all.counts())
	return errors.Join(err, all.counts().err())
}

func goTest(w io.Writer, args []string, logs bool) (results, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := newSummary(w, logs)
	readErr := s.read(out)
	// What is left must be taken, or go test would wait for a reader for ever.
	_, copyErr := io.Copy(io.Discard, out)
	all, err := s.finish(), errors.Join(readErr, copyErr)
	if waitErr := cmd.Wait(); waitErr != nil && all.counts().failed == 0 {
		err = errors.Join(err, fmt.Errorf("go test: %w, though no test failed", waitErr))
		all.add(testName{test: "go test"}, outcome{failed, waitErr.Error() + "\n", true})
	}
	return all, err
}

//go:build linux

// Command bench measures what tracing costs: bootscope against what one would use instead, on the same
// load, in turn (A B C A B C …), as medians of several rounds. It prints tables and never judges: a
// time depends on the machine, so only ratios within one run mean something.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// A bench is one table.
type bench struct {
	name string
	run  func(*setup) error
}

var benches = []bench{
	{"switch", benchSwitches},
	{"storm", benchStorm},
	{"forks", benchForks},
	{"start", benchStart},
	{"analysis", benchAnalysis},
}

// setup is what all benches are given.
type setup struct {
	bootscope string // the binary
	dir       string // for output of tracers
	rounds    int
	scale     float64 // of the loads: 1, or less to see only that everything runs
}

func main() {
	var s setup
	flag.StringVar(&s.bootscope, "bootscope", "bin/bootscope", "the binary to measure")
	flag.IntVar(&s.rounds, "rounds", 7, "rounds of each table")
	flag.Float64Var(&s.scale, "scale", 1, "size of the loads")
	only := flag.String("only", "", "run this table only")
	flag.Parse()
	if err := run(&s, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s *setup, only string) (err error) {
	if os.Getuid() != 0 {
		return fmt.Errorf("tracing needs root")
	}
	if s.bootscope, err = filepath.Abs(s.bootscope); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "bootscope-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	printMachine()
	for _, b := range benches {
		if only != "" && only != b.name {
			continue
		}
		if err := b.run(s); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

func (s *setup) file(name string) string { return filepath.Join(s.dir, name) }

// scaled is a size of load, never under a least one.
func (s *setup) scaled(n, least int) int { return max(least, int(float64(n)*s.scale)) }

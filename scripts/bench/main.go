//go:build linux

// Command bench measures what tracing costs: bootscope against what one would use instead, on the same
// load, in turn (A B C C B A …), as medians of several rounds. It prints tables and never judges: a
// time depends on the machine, so only ratios within one run mean something. With -write the tables
// replace those in a document.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A bench is some tables about one thing.
type bench struct {
	name string
	run  func(*setup) error
}

var benches = []bench{
	{"machine", printMachine},
	{"switch", benchSwitches},
	{"storm", benchStorm},
	{"forks", benchForks},
	{"opens", benchOpens},
	{"mappings", benchMappings},
	{"idle", benchIdle},
	{"start", benchStart},
	{"size", benchSize},
	{"analysis", benchAnalysis},
	{"pressure", benchPressure},
	{"goals", printGoals},
}

// setup is what all benches are given.
type setup struct {
	bootscope string // the binary
	dir       string // for output of tracers
	rounds    int
	scale     float64 // of the loads: 1, or less to see only that everything runs
	goals     []goal  // of the tables so far
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == asLoad {
		if err := runLoad(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var s setup
	flag.StringVar(&s.bootscope, "bootscope", "bin/bootscope", "the binary to measure")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds of each table, at most")
	flag.Float64Var(&s.scale, "scale", 1, "size of the loads")
	only := flag.String("only", "", "run these tables only, such as switch,storm")
	document := flag.String("write", "", "replace the tables in this document")
	flag.Parse()
	if s.scale < 1 {
		settle = 700 * time.Millisecond
	}
	if err := run(&s, *only, *document); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s *setup, only, document string) (err error) {
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
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	for _, b := range chosen { // before minutes of measuring
		if document == "" {
			break
		}
		if _, _, err := findTables(document, b.name); err != nil {
			return err
		}
	}
	for _, b := range chosen {
		var text strings.Builder
		output = io.MultiWriter(os.Stdout, &text)
		begin := time.Now()
		if err := b.run(s); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %.0f s\n", b.name, time.Since(begin).Seconds())
		if document == "" {
			continue
		}
		if err := replaceTables(document, b.name, text.String()); err != nil {
			return err
		}
	}
	return nil
}

func choose(only string) ([]bench, error) {
	if only == "" {
		return benches, nil
	}
	var chosen []bench
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(benches, func(b bench) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no table %q", name)
		}
		chosen = append(chosen, benches[i])
	}
	return chosen, nil
}

func (s *setup) file(name string) string { return filepath.Join(s.dir, name) }

// scaled is a size of load, never under a least one.
func (s *setup) scaled(n, least int) int { return max(least, int(float64(n)*s.scale)) }

// atMost limits the rounds of what takes long.
func (s *setup) atMost(rounds int) int { return min(s.rounds, rounds) }

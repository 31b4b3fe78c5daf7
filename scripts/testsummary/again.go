package main

import (
	"maps"
	"slices"
	"strings"
)

// mostAgain is how many tests may be run again. When more fail, something is broken.
const mostAgain = 3

// worthAnotherRun returns the tests, without those that are parts of others, that failed and may pass when they
// are run once more: a few, in packages that went on to their end.
func (r results) worthAnotherRun() []string {
	names := map[string]bool{}
	for name, o := range r {
		if o.result != failed {
			continue
		}
		if name.test == "" || o.unfinished {
			return nil
		}
		whole, _, _ := strings.Cut(name.test, "/")
		names[whole] = true
	}
	if len(names) > mostAgain {
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// secondRun takes in how tests ended that were run once more.
func (r results) secondRun(second results) {
	for name, o := range second {
		switch first := r[name]; {
		case o.result == failed:
			r[name] = o
		case o.result == passed && first.result == failed:
			r[name] = outcome{result: passedAgain, output: first.output}
		}
	}
}

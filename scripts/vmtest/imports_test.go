//go:build vmtest

package vmtest

import (
	"bytes"
	"slices"

	"github.com/bootscope/bootscope/tracer/python"
)

// leastSameParent: where the program lands in memory is new at every start, and a small program has few opens to
// calibrate by: if it takes one import for its importer's, all that the one imports is wrong. docs/accuracy.md is about
// how right trees are. A kernel on which they could not be told would have most of them wrong.
const leastSameParent = 0.90

// checkImports compares the tree of imports with what the interpreter logged in the same run.
func (r *recording) checkImports(log []byte) {
	interpreters := r.modules.Interpreters()
	i := slices.IndexFunc(interpreters, func(in *python.Interpreter) bool { return in.Process.PID == r.told.PID })
	if i < 0 {
		r.Fatalf("process %d is not known as Python", r.told.PID)
	}
	entries, err := python.ParseImportTime(bytes.NewReader(log))
	if err != nil {
		r.Fatal(err)
	}
	a := python.Compare(interpreters[i], entries)
	for _, d := range a.Differ {
		r.Logf("%s: asked for by %q in the log, by %q here", d.Module, d.InLog, d.InRecording)
	}
	r.Logf("%d of %d modules have the importer of the log", a.SameParent, a.Matched)
	if a.Matched < 40 || float64(a.SameParent) < leastSameParent*float64(a.Matched) {
		r.Errorf("%d of %d modules have the importer of the log, expected 40 modules at least and %.0f %% of them",
			a.SameParent, a.Matched, 100*leastSameParent)
	}
}

package findings

import (
	"fmt"
	"strings"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// A heavy import is a branch that takes a large part of all of a program's imports. The thresholds:
const (
	// Below it, without waits for a CPU, another library would hardly do better.
	leastHeavy = 500e6
	// A branch of less of all imports is not what makes the program slow to start.
	shareHeavy = 0.2
	// A module is only on the way to the heavy one while that is so much of it.
	onTheWay = 0.75
)

// heavyImport looks for the modules whose import costs most.
type heavyImport struct{ timeline.Discard }

func newHeavyImport(uint64) Detector { return &heavyImport{} }

// Find implements Detector.
func (*heavyImport) Find(r *Recording) (found []Finding) {
	for _, in := range r.Interpreters {
		sum := importsOf(in)
		least := max(uint64(shareHeavy*float64(work(&sum))), leastHeavy)
		for _, m := range heaviest(in.Asked(), least) {
			if _, _, eager := eagerPackage(m); !eager {
				found = append(found, heavy(in, m, &sum))
			}
		}
	}
	return found
}

// heaviest returns the modules where the time of heavy branches goes: down each branch as long as a single
// module is nearly all of it.
func heaviest(modules []*python.Module, least uint64) (list []*python.Module) {
	for _, m := range modules {
		if work(&m.Total) < least {
			continue
		}
		var next *python.Module
		for _, c := range m.Children {
			if float64(work(&c.Total)) >= onTheWay*float64(work(&m.Total)) {
				next = c
			}
		}
		if next == nil {
			if below := heaviest(m.Children, least); len(below) > 0 && work(&m.Self) < least {
				list = append(list, below...)
				continue
			}
			list = append(list, m)
			continue
		}
		list = append(list, heaviest([]*python.Module{next}, least)...)
	}
	return list
}

func heavy(in *python.Interpreter, m *python.Module, sum *timeline.Times) Finding {
	f := Finding{
		ID: "heavy-import", Title: "importing " + m.Name + " takes long", Cost: m.Total.Sum(),
		Unit: unitName(in.Process), PID: in.Process.PID,
		Evidence: []string{
			fmt.Sprintf("%s imports %s: %s of the %s that all its imports take", programName(in), m.Name,
				seconds(m.Total.Sum()), seconds(sum.Sum())),
			split(&m.Total),
			fmt.Sprintf("%s in the module itself, %s in the %d modules that it asks for", seconds(m.Self.Sum()),
				seconds(m.Total.Sum()-m.Self.Sum()), below(m)),
		},
		Remedy: "import it only where it is used, in the function, if it is not needed at start; or do without it; " + caveat,
	}
	if chain := chainTo(m); chain != "" {
		f.Evidence = append(f.Evidence, "asked for through "+chain)
	}
	if c := in.Calibration.Confidence(); c != python.High {
		f.Evidence = append(f.Evidence, "the import tree of this interpreter is of "+c.String()+" confidence")
	}
	return f
}

// chainTo says who asked for a module, from the program on.
func chainTo(m *python.Module) string {
	var names []string
	for p := m.Parent; p != nil; p = p.Parent {
		names = append([]string{p.Name}, names...)
	}
	if n := len(names); n > 5 {
		names = append(append(names[:2:2], "..."), names[n-2:]...)
	}
	return strings.Join(names, " > ")
}

// below counts the modules that one asked for, and they in turn.
func below(m *python.Module) (n int) {
	for _, c := range m.Children {
		n += 1 + below(c)
	}
	return n
}

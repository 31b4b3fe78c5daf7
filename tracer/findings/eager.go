package findings

import (
	"fmt"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// An eager package's __init__ imports many of its submodules, whether they are used or not. The thresholds:
const (
	leastEager = 200e6
	// Packages of a few modules are loaded as a whole anyway.
	manySubmodules = 10
	// The submodules themselves must be what costs, not what they need from elsewhere.
	shareSubmodules = 0.5
)

// eager looks for packages that import everything.
type eager struct{ timeline.Discard }

func newEager(uint64) Detector { return &eager{} }

// Find implements Detector.
func (*eager) Find(r *Recording) (found []Finding) {
	for _, in := range r.Interpreters {
		for _, m := range eagerIn(in.Roots) {
			found = append(found, eagerFinding(in, m))
		}
	}
	return found
}

// eagerIn returns the outermost eager packages.
func eagerIn(modules []*python.Module) (list []*python.Module) {
	for _, m := range modules {
		if _, _, ok := eagerPackage(m); ok {
			list = append(list, m)
			continue
		}
		list = append(list, eagerIn(m.Children)...)
	}
	return list
}

// eagerPackage judges a module: how many submodules its import pulls in, and what they take themselves.
func eagerPackage(m *python.Module) (submodules []*python.Module, cost uint64, ok bool) {
	if work(&m.Total) < leastEager || !isApplication(m) {
		return nil, 0, false
	}
	submodules = submodulesOf(m, m.Name+".", nil)
	var worked uint64
	for _, s := range submodules {
		cost += s.Self.Sum()
		worked += work(&s.Self)
	}
	ok = len(submodules) >= manySubmodules && float64(worked) >= shareSubmodules*float64(work(&m.Total))
	return submodules, cost, ok
}

func submodulesOf(m *python.Module, prefix string, list []*python.Module) []*python.Module {
	for _, c := range m.Children {
		if strings.HasPrefix(c.Name, prefix) {
			list = append(list, c)
		}
		list = submodulesOf(c, prefix, list)
	}
	return list
}

func eagerFinding(in *python.Interpreter, m *python.Module) Finding {
	submodules, cost, _ := eagerPackage(m)
	sort.SliceStable(submodules, func(i, j int) bool { return submodules[i].Self.Sum() > submodules[j].Self.Sum() })
	var costliest []string
	for _, s := range submodules[:3] {
		costliest = append(costliest, fmt.Sprintf("%s %s", s.Name, seconds(s.Self.Sum())))
	}
	f := Finding{
		ID: "eager-package", Title: "the package " + m.Name + " imports all its submodules", Cost: cost,
		Unit: unitName(in.Process), PID: in.Process.PID,
		Evidence: []string{
			fmt.Sprintf("in %s, import %s takes %s", programName(in), m.Name, seconds(m.Total.Sum())),
			fmt.Sprintf("its __init__ pulls in %d of its own submodules, which take %s themselves", len(submodules), seconds(cost)),
			"costliest: " + strings.Join(costliest, ", "),
		},
		Remedy: "import the submodules that are used by their full names and keep __init__ empty, or let it import them when " +
			"they are first used (a module __getattr__); " + caveat,
	}
	if chain := chainTo(m); chain != "" {
		f.Evidence = append(f.Evidence, "asked for through "+chain)
	}
	return f
}

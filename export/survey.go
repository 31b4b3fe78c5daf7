package export

import (
	"github.com/bootscope/bootscope/tracer/findings"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// survey is what a format for viewers tells before what happened: names, imports, what to fix.
type survey struct {
	*timeline.Timeline
	interpreters []*python.Interpreter
	findings     []findings.Finding
}

// surveyOf reads a source once, and the whole recording as well if the source is a part of it: what is to
// be fixed doesn't depend on which part is looked at.
func surveyOf(source tracefile.Source) (*survey, error) {
	detectors, modules := findings.New(source.Header().Start), python.NewCollector()
	tl, err := timeline.Build(source, append(detectors.Sinks(), modules)...)
	if err != nil {
		return nil, err
	}
	s := &survey{Timeline: tl, interpreters: modules.Interpreters()}
	if p, ok := source.(*part); ok {
		all, err := surveyOf(p.Source)
		if err != nil {
			return nil, err
		}
		s.findings = all.findings
		return s, nil
	}
	s.findings = detectors.Find(&findings.Recording{Timeline: tl, Interpreters: s.interpreters})
	return s, nil
}

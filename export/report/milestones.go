package report

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// seeker finds milestones in a recording that was made without them.
type seeker struct {
	timeline.Discard
	sought []*milestone.Milestone
	opened map[*milestone.Milestone]timeline.Milestone
}

// newSeeker fails for milestones that no recording can tell of afterwards.
func newSeeker(list []*milestone.Milestone) (*seeker, error) {
	for _, m := range list {
		if m.Kind == milestone.Log {
			return nil, fmt.Errorf("milestone %s: the lines of %s are not in the trace; name it when recording, "+
				"or use journal:, unit:, open: or exec: here", m.Name, m.Path)
		}
	}
	return &seeker{sought: list, opened: map[*milestone.Milestone]timeline.Milestone{}}, nil
}

// Open implements timeline.Sink.
func (s *seeker) Open(o *timeline.Open) {
	for _, m := range s.sought {
		if m.Kind != milestone.Open || o.Result < 0 || o.Path != m.Path {
			continue
		}
		if _, ok := s.opened[m]; !ok {
			found := timeline.Milestone{Time: o.Time}
			if p := o.Thread.Process; p != nil {
				found.PID = p.PID
			}
			s.opened[m] = found
		}
	}
}

// addTo adds what was found to a timeline, and returns what was not. It replaces milestones of the same
// name.
func (s *seeker) addTo(tl *timeline.Timeline) (missed []*milestone.Milestone, err error) {
	for _, m := range s.sought {
		if m.Kind == milestone.Journal && len(tl.Journal) == 0 {
			return nil, fmt.Errorf("milestone %s: there is no journal in the trace (only recordings of a boot have it, "+
				"without --no-journal)", m.Name)
		}
		found, ok := s.find(tl, m)
		if !ok {
			missed = append(missed, m)
			continue
		}
		found.Name, found.Source, found.Chosen = m.Name, m.Spec, true
		kept := tl.Milestones[:0]
		for _, other := range tl.Milestones {
			if other.Name != m.Name {
				kept = append(kept, other)
			}
		}
		tl.Milestones = append(kept, found)
	}
	sort.SliceStable(tl.Milestones, func(i, j int) bool { return tl.Milestones[i].Time < tl.Milestones[j].Time })
	return missed, nil
}

// find returns the first moment at which a milestone's spec holds.
func (s *seeker) find(tl *timeline.Timeline, m *milestone.Milestone) (found timeline.Milestone, ok bool) {
	switch m.Kind {
	case milestone.Open:
		found, ok = s.opened[m]
	case milestone.Unit:
		if u := tl.FindUnit(m.Unit); u != nil && u.Systemd != nil && u.Systemd.Active != 0 {
			return timeline.Milestone{Time: u.Systemd.Active, PID: u.Systemd.MainPID}, true
		}
	case milestone.Journal:
		for _, l := range tl.Journal {
			if l.Unit == m.Unit && m.Line.MatchString(l.Message) {
				return timeline.Milestone{Time: l.Time, PID: l.PID}, true
			}
		}
	case milestone.Exec:
		for _, p := range tl.Processes {
			for _, x := range p.Execs {
				named := x.Name == m.Path || x.Exe != nil && x.Exe.Path == m.Path
				if named && (!ok || x.Time < found.Time) {
					found, ok = timeline.Milestone{Time: x.Time, PID: p.PID}, true
				}
			}
		}
	}
	return found, ok
}

package timeline

import "github.com/bootscope/bootscope/tracer/milestone"

// Link is a part of the chain of units that led to a moment, each of which waited for the one before.
type Link struct {
	Unit *Unit
	// From and To bound its start. To is the recording's end for one that was not up by then.
	From, To uint64
	// Before is how long it was not started yet although the link before it was done: it waited for
	// something else than a unit that it comes after.
	Before uint64
	Own    bool // not its start, but what it did itself from then on, up to the moment that was asked for
}

// maxLinks bounds a chain: no unit is in one twice.
const maxLinks = 1000

// Chain returns the units that the start of a unit had to wait for, the first one first and the unit
// itself last. Each link's predecessor is, of the units that it was ordered after, the one that was done
// last before it began.
func (t *Timeline) Chain(u *Unit) []Link {
	var links []Link
	seen := map[*Unit]bool{}
	for u != nil && u.Systemd != nil && !seen[u] && len(links) < maxLinks {
		seen[u] = true
		link := Link{Unit: u, From: u.Systemd.begun(), To: u.Systemd.Done()}
		if link.From == 0 {
			break
		}
		if link.To == 0 {
			link.To = max(link.From, t.End)
		}
		before := t.predecessor(u, seen)
		if before != nil {
			link.Before = link.From - before.Systemd.Done()
		}
		links = append(links, link)
		u = before
	}
	for i, j := 0, len(links)-1; i < j; i, j = i+1, j-1 {
		links[i], links[j] = links[j], links[i]
	}
	return links
}

// predecessor finds the unit for which another one had to wait longest.
func (t *Timeline) predecessor(u *Unit, seen map[*Unit]bool) (last *Unit) {
	begun := u.Systemd.begun()
	for _, name := range u.Systemd.List("After") {
		x := t.FindUnit(name)
		if x == nil || x.Systemd == nil || seen[x] {
			continue
		}
		if done := x.Systemd.Done(); done == 0 || done > begun || last != nil && done <= last.Systemd.Done() {
			continue
		}
		last = x
	}
	return last
}

// targets at which a boot ends, if nobody says otherwise.
var targets = []string{"graphical.target", "multi-user.target"}

// BootTarget returns the unit that the boot was for: the one of the usual targets that was up last.
func (t *Timeline) BootTarget() (target *Unit) {
	for _, name := range targets {
		u := t.FindUnit(name)
		if u != nil && u.Systemd != nil && u.Systemd.Done() != 0 && (target == nil || u.Systemd.Done() > target.Systemd.Done()) {
			target = u
		}
	}
	return target
}

// ChainTo returns the chain that led to a milestone, as far as a unit can be told that reached it.
func (t *Timeline) ChainTo(m *Milestone) []Link {
	u := t.unitOfMilestone(m)
	if u == nil {
		return nil
	}
	links := t.Chain(u)
	if n := len(links); n > 0 && links[n-1].To < m.Time {
		links = append(links, Link{Unit: u, From: links[n-1].To, To: m.Time, Own: true})
	}
	return links
}

// unitOfMilestone finds the unit that reached a milestone: the one that its spec names, or that of the process.
func (t *Timeline) unitOfMilestone(m *Milestone) *Unit {
	if spec, err := milestone.Parse("m=" + m.Source); err == nil && spec.Unit != "" {
		return t.FindUnit(spec.Unit)
	}
	for _, p := range t.Processes {
		if p.PID == m.PID && m.PID != 0 && p.Start <= m.Time && m.Time <= p.End {
			return p.Unit
		}
	}
	return nil
}

// Goal returns the chain to what the boot was for: the last milestone of which the unit is known, of those
// that were chosen if any was, or the boot's target. The name says which it is.
func (t *Timeline) Goal() (links []Link, name string) {
	for i := len(t.Milestones) - 1; i >= 0; i-- {
		if m := &t.Milestones[i]; m.Chosen || name == "" {
			if to := t.ChainTo(m); len(to) > 0 {
				links, name = to, m.Name
				if m.Chosen {
					return links, name
				}
			}
		}
	}
	if u := t.BootTarget(); u != nil && name == "" {
		return t.Chain(u), u.Name
	}
	return links, name
}

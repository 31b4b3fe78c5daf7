package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// cpus says how many CPUs there were, and how many more the machine could have.
func (t *text) cpus() string {
	h := t.r.Header
	n := len(h.Online)
	for _, c := range t.r.CPUs {
		if !slices.Contains(h.Online, c.ID) && c.Offline < t.r.Duration() {
			n++
		}
	}
	if n == 0 || n >= h.CPUs {
		return count(h.CPUs, "CPU")
	}
	return fmt.Sprintf("%s of %d possible", count(n, "CPU"), h.CPUs)
}

// absences says which CPUs were not online throughout: what the others did has to be read with that.
func (t *text) absences() {
	var away []string
	for _, c := range t.r.CPUs {
		if c.Offline > 0 && c.Offline < t.r.Duration() {
			away = append(away, fmt.Sprintf("CPU %d %s", c.ID, t.away(c)))
		}
	}
	if len(away) > 0 {
		t.paragraph("Offline: "+strings.Join(away, ", ")+".", 2)
	}
}

// away says when a CPU was offline.
func (t *text) away(c *timeline.CPU) string {
	first := c.Absences[0]
	switch {
	case len(c.Absences) > 1:
		return fmt.Sprintf("%d times, %s in all", len(c.Absences), seconds(c.Offline))
	case first.From <= t.r.Start:
		return "until " + seconds(first.To)
	case first.To >= t.r.End:
		return "from " + seconds(first.From) + " on"
	}
	return fmt.Sprintf("from %s to %s", seconds(first.From), seconds(first.To))
}

// absencesOf lists when CPUs were offline.
func absencesOf(r *Report) []absenceJSON {
	list := []absenceJSON{}
	for _, c := range r.CPUs {
		for _, a := range c.Absences {
			list = append(list, absenceJSON{c.ID, secs(a.From), secs(a.To)})
		}
	}
	return list
}

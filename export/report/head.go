package report

import (
	"fmt"
	"strings"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// recorded says in one line what this is a recording of, and warns when it is not whole.
func (t *text) recorded() {
	h := t.r.Header
	if !t.r.Complete() {
		t.paragraph("INCOMPLETE: the recording was cut off, what came later is missing.", 2)
	}
	if n := len(t.r.Problems); n > 0 {
		bytes := int64(0)
		for _, p := range t.r.Problems {
			bytes += p.Length
		}
		first := t.r.Problems[0]
		t.paragraph(fmt.Sprintf("DAMAGED: %s (%s) could not be read, the first at offset %d: %s.",
			count(n, "place"), size(uint64(max(bytes, 0))), first.Offset, printable(first.Cause)), 2)
	}
	what := fmt.Sprintf("%s of Linux %s %s, %s", seconds(t.r.Duration()), printable(h.Kernel), printable(h.Arch),
		t.cpus())
	if len(h.Command) > 0 {
		what += ": " + shellQuote(h.Command)
	}
	t.line("%s", what)
	t.absences()
}

// cost says what recording took.
func (t *text) cost() {
	tr := t.r.Trailer
	if tr == nil {
		t.line("Cost: not known (it is written at the end).")
		return
	}
	s := tr.Self
	recorder := s.CPU - min(s.StartCPU, s.CPU)
	share := "-"
	if all := t.r.CPUTime(t.r.Start, t.r.End); all > 0 {
		share = fmt.Sprintf("%.2f %%", 100*float64(recorder+s.BPF)/float64(all))
	}
	t.paragraph(fmt.Sprintf("Cost: %s of all CPU time (recorder %s, its programs %s), %s CPU to start, %s memory, %s written.",
		share, seconds(recorder), seconds(s.BPF), seconds(s.StartCPU), size(s.MaxRSS), size(s.BytesWritten)), 2)
}

// losses says what was lost, and what the probes can't tell.
func (t *text) losses() {
	s := "Lost: nothing."
	if lost := t.r.Lost(); lost > 0 {
		var parts []string
		for _, l := range t.r.Losses {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", l.Count, printable(l.Probe), printable(l.Reason)))
		}
		s = fmt.Sprintf("LOST: %s, so times and counts are incomplete: %s.", count(int(min(lost, 1<<62)), "event"),
			strings.Join(parts, ", "))
	}
	t.paragraph(s+" "+t.probes(), 2)
}

// probes says which probes are off or do less than they could: in the short form only their names.
func (t *text) probes() string {
	byStatus := map[string][]string{}
	for _, p := range t.r.Can.Statuses {
		name := printable(p.Name)
		if t.top != DefaultTop && p.Reason != "" {
			name += " (" + printable(p.Reason) + ")"
		}
		byStatus[p.Status] = append(byStatus[p.Status], name)
	}
	var parts []string
	for _, status := range []string{tracefile.StatusOff, tracefile.StatusLesser} {
		if names := byStatus[status]; len(names) > 0 {
			parts = append(parts, status+": "+strings.Join(names, ", "))
		}
	}
	switch {
	case len(t.r.Can.Statuses) == 0:
		return "Probes: not known."
	case len(parts) == 0:
		return "Probes: all on."
	case t.top == DefaultTop:
		return "Probes " + strings.Join(parts, "; ") + " (--top 0 says why)."
	}
	return "Probes " + strings.Join(parts, "; ") + "."
}

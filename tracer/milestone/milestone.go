// Package milestone understands what a user writes to name a moment: NAME=SPEC. It says nothing of how
// the moment is found, live or afterwards; both ways read the same words.
package milestone

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A Kind is where a milestone is looked for.
type Kind string

// The kinds of milestones.
const (
	Unit    Kind = "unit"    // a unit becomes active
	Journal Kind = "journal" // a unit's line in the journal
	Log     Kind = "log"     // a line of a log file, by the wall clock's stamp in it
	Open    Kind = "open"    // a file is opened
	Exec    Kind = "exec"    // a program is executed
)

// A Milestone is a moment that somebody named: the first time that its spec holds.
type Milestone struct {
	Name   string
	Spec   string // as it was written
	Kind   Kind
	Unit   string         // of Unit and Journal
	Path   string         // of Log, Open and Exec
	Line   *regexp.Regexp // of Journal and Log
	Layout string         // of Log: how the stamp is written, as package time has it
}

// Help tells the forms of a spec.
const Help = `unit:UNIT           the unit becomes active
journal:UNIT:REGEX  a line of the unit in the journal
log:FILE:REGEX:LAYOUT
                    a line of a file, by the time in it; the layout is that of
                    strptime (%Y-%m-%d %H:%M:%S) or of Go's package time
open:PATH           the file is opened
exec:PATH           the program is executed
Another character may stand for ":", such as journal|x.service|listening on :80`

// Parse reads NAME=SPEC.
func Parse(text string) (*Milestone, error) {
	name, spec, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return nil, fmt.Errorf("milestone %q: write NAME=SPEC, such as ready=unit:app.service", text)
	}
	m := &Milestone{Name: name, Spec: spec}
	if err := m.parse(); err != nil {
		return nil, fmt.Errorf("milestone %q: %w", text, err)
	}
	return m, nil
}

// parse takes the spec apart. The character after the kind separates; the last part may hold it again.
func (m *Milestone) parse() error {
	end := strings.IndexFunc(m.Spec, func(r rune) bool { return r < 'a' || r > 'z' })
	if end <= 0 {
		return fmt.Errorf("it says no kind: write unit:, journal:, log:, open: or exec: first")
	}
	m.Kind = Kind(m.Spec[:end])
	parts := map[Kind]int{Unit: 1, Journal: 2, Log: 3, Open: 1, Exec: 1}[m.Kind]
	if parts == 0 {
		return fmt.Errorf("there is no kind %q: unit, journal, log, open or exec", string(m.Kind))
	}
	rest := []rune(m.Spec[end:])
	values := strings.SplitN(string(rest[1:]), string(rest[0]), parts)
	if len(values) < parts {
		return fmt.Errorf("it has %d of the %d parts that follow %q", len(values), parts, string(m.Kind))
	}
	for _, v := range values {
		if v == "" {
			return fmt.Errorf("a part of it is empty")
		}
	}
	return m.set(values)
}

func (m *Milestone) set(values []string) (err error) {
	switch m.Kind {
	case Unit, Journal:
		m.Unit = values[0]
		if !strings.Contains(m.Unit, ".") {
			m.Unit += ".service"
		}
	case Log, Open, Exec:
		m.Path = values[0]
		if !strings.HasPrefix(m.Path, "/") {
			return fmt.Errorf("%s is not an absolute path", m.Path)
		}
	}
	if len(values) > 1 {
		if m.Line, err = regexp.Compile(values[1]); err != nil {
			return err
		}
	}
	if len(values) > 2 {
		m.Layout, err = goLayout(values[2])
	}
	return err
}

// directives are those of strptime that package time can read.
var directives = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'b': "Jan", 'B': "January",
	'a': "Mon", 'A': "Monday", 'e': "_2", 'I': "03", 'p': "PM", 'z': "-0700", 'Z': "MST", 'f': "000000", '%': "%",
	'T': "15:04:05", 'F': "2006-01-02", 'j': "002",
}

// goLayout turns a layout of strptime into one of package time; one without a % is such already.
func goLayout(layout string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			continue
		}
		i++
		if i == len(layout) || directives[layout[i]] == "" {
			return "", fmt.Errorf("layout %q: what follows the %% at byte %d is not known", layout, i)
		}
		b.WriteString(directives[layout[i]])
	}
	if _, err := time.Parse(b.String(), time.Unix(0, 0).UTC().Format(b.String())); err != nil {
		return "", fmt.Errorf("layout %q cannot be read back: %w", layout, err)
	}
	return b.String(), nil
}

// Stamp finds the time in a line of a log file, wherever it begins. A stamp without a zone is in local;
// one without a year is of the year of near.
func (m *Milestone) Stamp(line string, local *time.Location, near time.Time) (time.Time, error) {
	for at := range line {
		t, err := parsePrefix(m.Layout, line[at:], local)
		if err != nil {
			continue
		}
		if t.Year() == 0 {
			t = t.AddDate(near.In(local).Year(), 0, 0)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("no time like %q in the line %q", m.Layout, line)
}

// parsePrefix reads a time at the beginning of s.
func parsePrefix(layout, s string, local *time.Location) (time.Time, error) {
	t, err := time.ParseInLocation(layout, s, local)
	var extra *time.ParseError
	if e, ok := err.(*time.ParseError); ok {
		extra = e
	}
	if extra == nil || !strings.HasPrefix(extra.Message, ": extra text: ") {
		return t, err
	}
	return time.ParseInLocation(layout, strings.TrimSuffix(s, extra.ValueElem), local)
}

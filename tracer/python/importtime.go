package python

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// LogEntry is an import as `python -X importtime` wrote it.
type LogEntry struct {
	Name             string
	Self, Cumulative uint64 // nanoseconds
	Parent           *LogEntry
	Children         []*LogEntry

	module *Module // the same import, in a recording
}

var logLine = regexp.MustCompile(`^import time:\s*(\d+) \|\s*(\d+) \|( +)(\S+)\s*$`)

// ParseImportTime reads what -X importtime wrote to standard error; other lines are passed over. The
// entries come in the order in which the imports ended.
func ParseImportTime(r io.Reader) ([]*LogEntry, error) {
	var entries []*LogEntry
	open := map[int][]*LogEntry{} // by depth: those whose importer has not ended yet
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	for lines.Scan() {
		m := logLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		self, err := strconv.ParseUint(m[1], 10, 63)
		if err != nil {
			return nil, fmt.Errorf("self time of %q: %w", m[4], err)
		}
		cumulative, err := strconv.ParseUint(m[2], 10, 63)
		if err != nil {
			return nil, fmt.Errorf("cumulative time of %q: %w", m[4], err)
		}
		depth := (len(m[3]) - 1) / 2
		e := &LogEntry{Name: m[4], Self: self * 1000, Cumulative: cumulative * 1000, Children: open[depth+1]}
		for _, child := range e.Children {
			child.Parent = e
		}
		delete(open, depth+1)
		open[depth] = append(open[depth], e)
		entries = append(entries, e)
	}
	return entries, lines.Err()
}

// Agreement is how far a recording and a log of the same run say the same.
type Agreement struct {
	// Entries is how many imports the log has. Matched of them were seen to open a file; the others are
	// built in, frozen, or were not found. They count as a part of whatever asked for them.
	Entries, Matched int
	SameParent       int
	Differ           []Difference
	Times            []TimePair // of those that match, in the log's order
}

// Difference is an import whose importer is another one in the recording than in the log.
type Difference struct {
	Module             string
	InLog, InRecording string // "" for none
}

// TimePair is the time of one import in both.
type TimePair struct {
	Module                 string
	LogSelf, LogCumulative uint64
	Self, Cumulative       uint64
}

// Compare compares an interpreter's imports with a log of the same run. What runs as the main program is
// in no log: it is passed over as well.
func Compare(in *Interpreter, log []*LogEntry) *Agreement {
	a := &Agreement{Entries: len(log)}
	logged := matchUp(in, log)
	for _, e := range log {
		if e.module == nil {
			continue
		}
		a.Matched++
		theirs := e.Parent
		for theirs != nil && theirs.module == nil {
			theirs = theirs.Parent
		}
		ours := e.module.Parent
		for ours != nil && logged[ours] == nil {
			ours = ours.Parent
		}
		if ours == nil && theirs == nil || ours != nil && theirs != nil && ours.Name == theirs.Name {
			a.SameParent++
		} else {
			d := Difference{Module: e.Name}
			if theirs != nil {
				d.InLog = theirs.Name
			}
			if ours != nil {
				d.InRecording = ours.Name
			}
			a.Differ = append(a.Differ, d)
		}
		a.Times = append(a.Times, TimePair{
			e.Name, e.Self, e.Cumulative, e.module.Self.Sum(), e.module.Total.Sum(),
		})
	}
	return a
}

// matchUp finds the log's entry of each import. Of an import that was tried several times the last ones
// match: an attempt that finds no file is in the log, too.
func matchUp(in *Interpreter, log []*LogEntry) map[*Module]*LogEntry {
	modules := map[string][]*Module{}
	for _, m := range in.Modules {
		modules[m.Name] = append(modules[m.Name], m)
	}
	entries := map[string][]*LogEntry{}
	for _, e := range log {
		e.module = nil
		if !e.wraps(e.Name) {
			entries[e.Name] = append(entries[e.Name], e)
		}
	}
	logged := map[*Module]*LogEntry{}
	for name, list := range entries {
		ours := modules[name]
		for i := 1; i <= min(len(ours), len(list)); i++ {
			e, m := list[len(list)-i], ours[len(ours)-i]
			e.module, logged[m] = m, e
		}
	}
	return logged
}

// wraps tells whether an import of the same name is part of this one: a package that imports the very
// submodule on whose behalf it is imported.
func (e *LogEntry) wraps(name string) bool {
	for _, child := range e.Children {
		if child.Name == name || child.wraps(name) {
			return true
		}
	}
	return false
}

// Error is how far the cumulative times are apart, as a share of the log's.
func (t TimePair) Error() float64 {
	if t.LogCumulative == 0 {
		return 0
	}
	return math.Abs(float64(t.Cumulative)-float64(t.LogCumulative)) / float64(t.LogCumulative)
}

// TimeErrors sums up the errors of the imports that took some cumulative time at least by the log.
func TimeErrors(pairs []TimePair, least uint64) (n int, median, p95 float64) {
	var errors []float64
	for _, t := range pairs {
		if t.LogCumulative >= least {
			errors = append(errors, t.Error())
		}
	}
	slices.Sort(errors)
	if n = len(errors); n == 0 {
		return 0, 0, 0
	}
	return n, errors[n/2], errors[min(n*95/100, n-1)]
}

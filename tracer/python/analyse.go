package python

import (
	"path"
	"sort"
)

// Interpreters returns the processes that ran Python and imported modules, by the time of their first
// import. It is called once, after the timeline is built.
func (c *Collector) Interpreters() []*Interpreter {
	names := c.names()
	byExe := map[string][]*run{}
	for _, r := range c.runs {
		if len(r.Opens) > 0 {
			byExe[r.Exe] = append(byExe[r.Exe], r)
		}
	}
	calibrations := map[string]*Calibration{}
	for exe, runs := range byExe {
		calibrations[exe] = calibrate(exe, runs, names)
	}
	var list []*Interpreter
	for _, r := range c.runs {
		cal := calibrations[r.Exe]
		if len(r.Opens) == 0 || !r.python && !r.looksLikePython(cal) {
			continue
		}
		r.finish(cal, names)
		list = append(list, &r.Interpreter)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Opens[0].Time < list[j].Opens[0].Time })
	return list
}

// names gives every import the name of its module. A directory is a package if anyone has loaded its
// __init__.
func (c *Collector) names() map[*Open]string {
	var files []moduleFile
	for _, r := range c.runs {
		for _, o := range r.Opens {
			files = append(files, o.file)
		}
	}
	known := layoutOf(files)
	names := map[*Open]string{}
	byFile := map[moduleFile]string{}
	for _, r := range c.runs {
		for _, o := range r.Opens {
			name, ok := byFile[o.file]
			if !ok {
				name = known.moduleName(o.file)
				byFile[o.file] = name
			}
			names[o] = name
		}
	}
	return names
}

// looksLikePython recognises an interpreter that isn't called so: the first that every one imports is
// encodings, and its opens are at the depths of nested imports, unlike those of a program that copies files.
func (r *run) looksLikePython(cal *Calibration) bool {
	first := r.Opens[0].file
	return cal.Confidence() == High && first.name == "__init__" && path.Base(first.dir) == "encodings"
}

// finish rebuilds an interpreter's imports.
func (r *run) finish(cal *Calibration, names map[*Open]string) {
	r.Calibration, r.Version, r.WritesBytecode = cal, versionOf(r.tag), r.writes
	for _, t := range r.tracks {
		r.Modules = append(r.Modules, walk(t, cal, names)...)
	}
	sort.SliceStable(r.Modules, func(i, j int) bool { return r.Modules[i].Open.Time < r.Modules[j].Open.Time })
	seen := map[string]bool{}
	for _, m := range r.Modules {
		m.Again = seen[m.Name]
		seen[m.Name] = true
		if m.Parent == nil {
			r.Roots = append(r.Roots, m)
		} else {
			m.Parent.Children = append(m.Parent.Children, m)
		}
	}
	for _, m := range r.Roots {
		m.total()
	}
	r.ImportsEnd = importsEnd(r.Asked())
	r.FirstWait = r.firstWait()
	r.Search = r.search()
	r.opensUntilNext(names)
}

// Asked are the imports that the program itself asked for.
func (in *Interpreter) Asked() (list []*Module) {
	for _, m := range in.Roots {
		if m.Main {
			list = append(list, m.Children...)
		} else {
			list = append(list, m)
		}
	}
	return list
}

// pause without an import ends the imports of a start: what comes later was asked for by the running program.
const pause = 1e9

// importsEnd is when the imports of an interpreter's start had ended: the end of the last import before the
// first second without one, on any of its threads.
func importsEnd(asked []*Module) (end uint64) {
	for i, m := range asked {
		if i > 0 && m.Start > end+pause {
			break
		}
		end = max(end, m.End)
	}
	return end
}

func (r *run) firstWait() uint64 {
	for _, t := range r.tracks {
		if t.thread.TID != r.Process.PID {
			continue
		}
		for i := range t.marks {
			if m := &t.marks[i]; m.what == slept && m.long && m.time >= r.ImportsEnd {
				return m.time
			}
		}
	}
	return 0
}

// search counts what the search for modules did.
func (r *run) search() (s Search) {
	for _, t := range r.tracks {
		for i := range t.marks {
			switch m := &t.marks[i]; {
			case m.time > r.ImportsEnd:
			case m.look == failed:
				s.FailedOpens++
			case m.look == listed:
				s.Listings++
			}
		}
	}
	for _, m := range r.Modules {
		if m.Start < r.ImportsEnd && m.Open.Time > m.Start {
			s.Time += min(r.Calibration.Lead, m.Open.Time-m.Start)
		}
	}
	return s
}

// opensUntilNext fills in what is known of opens without the tree.
func (r *run) opensUntilNext(names map[*Open]string) {
	for _, t := range r.tracks {
		var last *mark
		for i := range t.marks {
			m := &t.marks[i]
			if m.what != imported {
				continue
			}
			m.open.Module = names[m.open]
			if last != nil {
				spent := since(&m.times, &last.times)
				last.open.Until = &spent
			}
			last = m
		}
	}
}

// total adds up a module's time with that of all it asked for.
func (m *Module) total() {
	m.Total = m.Self
	for _, child := range m.Children {
		child.total()
		m.Total.Add(&child.Total)
	}
}

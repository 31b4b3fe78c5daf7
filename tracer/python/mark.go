package python

import "github.com/bootscope/bootscope/tracer/timeline"

// mark is a moment in a thread's life at which something is known of what Python did: mostly how deep its
// stack was.
type mark struct {
	what  markKind
	time  uint64
	sp    uint64         // the user stack pointer, 0 if not known
	times timeline.Times // the thread's time by state until then
	open  *Open          // of a module, else nil
	long  bool           // a sleep of longSleep or more
	look  look           // what an open did for the search of a module
}

type markKind uint8

const (
	sampled  markKind = iota // a sample, or a major fault
	opened                   // any open, also one that failed
	imported                 // the open that stands for an import
	paused                   // the thread left its CPU, or came back, but not to sleep
	slept                    // it went to sleep
	woke                     // it woke up
)

// look is what an open has to do with the search for a module.
type look uint8

const (
	noLook look = iota
	failed      // nothing was there
	listed      // a directory was opened, to list it
)

// Open is an open of a module's file by Python: an import that reads it.
type Open struct {
	Thread *timeline.Thread
	File   *timeline.File
	Time   uint64
	UserSP uint64
	Module string
	Cache  Cache
	// Until is how the thread spent the time until its next import, nil for its last one.
	Until *timeline.Times

	file moduleFile
}

// track is what one thread did while it ran one Python program.
type track struct {
	thread *timeline.Thread
	run    *run
	begin  uint64
	marks  []mark
	// attempt is a module's bytecode that could not be opened just now.
	attempt attempt
	last    *Open // the latest import
}

type attempt struct {
	file  moduleFile
	errno int32 // 0: no attempt
}

func (t *track) add(what markKind, time, sp uint64) *mark {
	t.marks = append(t.marks, mark{what: what, time: time, sp: sp, times: t.thread.TimesAt(time)})
	return &t.marks[len(t.marks)-1]
}

const (
	// Shorter stretches off the CPU are not worth a mark.
	shortPause = 100e3
	// longSleep is a sleep that no import has as a rule, but a program that is ready has: it waits for work.
	longSleep = 20e6
)

// addPause notes a stretch off the CPU, which has just ended, by its two ends.
func (t *track) addPause(iv *timeline.Interval) {
	length := iv.End - iv.Start
	if length < shortPause || iv.Start < t.begin {
		return
	}
	after := t.thread.Times
	before := after
	before[iv.State] -= min(length, before[iv.State])
	begin, end := mark{what: paused, time: iv.Start, times: before}, mark{what: paused, time: iv.End, times: after}
	if iv.State == timeline.Sleeping {
		begin.what, begin.long, end.what = slept, length >= longSleep, woke
	}
	t.marks = append(t.marks, begin, end)
}

// onOpen takes in an open, whatever it is of.
func (t *track) onOpen(o *timeline.Open) {
	f := parseFile(o.Path)
	m := t.add(opened, o.Time, o.UserSP)
	switch {
	case o.Result < 0:
		m.look = failed
	case o.File != nil && o.File.Mode&modeType == modeDirectory:
		m.look = listed
	}
	reads := o.Flags&(openWriteOnly|openReadWrite) == 0
	switch {
	case f.kind == noModule:
	case f.kind == writing:
		t.onWrite(f, o.Result)
	case !reads:
	case o.Result < 0:
		if f.kind == bytecode {
			t.attempt = attempt{f, -o.Result}
		}
	case f.kind == source:
		t.onSource(m, o, f)
	case f.kind == archive:
		if t.run.archives[f.dir+"/"+f.name] { // the first open reads its directory
			t.onImport(m, o, f)
		}
		t.run.archives[f.dir+"/"+f.name] = true
	default:
		t.onImport(m, o, f)
	}
}

const (
	openWriteOnly = 1
	openReadWrite = 2
	modeType      = 0o170000
	modeDirectory = 0o040000
)

func (t *track) onImport(m *mark, o *timeline.Open, f moduleFile) {
	m.what = imported
	m.open = &Open{Thread: o.Thread, File: o.File, Time: o.Time, UserSP: o.UserSP, file: f}
	t.last, t.attempt = m.open, attempt{}
	t.run.Opens = append(t.run.Opens, m.open)
	if t.run.tag == "" && f.kind == bytecode {
		t.run.tag = f.tag
	}
}

// onSource takes in the open of a source file. It is an import only where Python has looked for the
// bytecode just before: else it runs a script, or something reads the text, as tracebacks do.
func (t *track) onSource(m *mark, o *timeline.Open, f moduleFile) {
	switch {
	case t.attempt.errno != 0 && t.attempt.file.sameModule(f):
		missing := t.attempt
		t.onImport(m, o, f)
		t.last.Cache = Cache{State: Missing, Errno: missing.errno, source: o.File}
		if t.run.tag == "" {
			t.run.tag = missing.file.tag
		}
	case t.last != nil && t.last.file.kind == bytecode && t.last.file.sameModule(f) &&
		t.last.Cache.State == Fresh && o.Time-t.last.Time < sourceFollows:
		t.last.Cache = Cache{State: Stale, source: o.File}
	}
}

// sourceFollows is the longest that the source of a stale bytecode is opened after it: they are two reads
// apart, and one of them may wait for a slow disk.
const sourceFollows = 1e9

// onWrite takes in that bytecode is written, or could not be.
func (t *track) onWrite(f moduleFile, result int32) {
	t.run.writes = true
	if t.last == nil || !f.sameModule(t.last.file) && !t.last.file.sameModule(f) {
		return
	}
	if result >= 0 {
		t.last.Cache.Written = true
	} else {
		t.last.Cache.WriteErrno = -result
	}
}

package export

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// pprofFrame is a level of a stack: a unit, a process, or a module.
type pprofFrame struct{ name, file string }

// pprofFrames gives each frame one location.
type pprofFrames struct {
	profile   *profile.Profile
	locations map[pprofFrame]*profile.Location
}

// newPprofFrames also names what was recorded: pprof shows that as the file that the profile is of, and
// complains if there is none. All frames have their names, so it need not look for more in there.
func newPprofFrames(p *profile.Profile, machine string) *pprofFrames {
	if machine == "" {
		machine = "machine without a name"
	}
	p.Mapping = []*profile.Mapping{{
		ID: 1, File: printable(machine), HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}
	return &pprofFrames{profile: p, locations: map[pprofFrame]*profile.Location{}}
}

// stack returns the frames of a process that imports something, the innermost first.
func (f *pprofFrames) stack(p *timeline.Process, importing *importFrame) (stack []*profile.Location) {
	for ; importing != nil; importing = importing.parent {
		stack = append(stack, f.location(pprofFrame{printable(importing.module), printable(importing.file)}))
	}
	return append(stack,
		f.location(pprofFrame{printable(processName(p)), printable(p.Exe)}),
		f.location(pprofFrame{name: unitFrame(p)}))
}

// nobody is the stack of what no thread is known for.
func (f *pprofFrames) nobody() []*profile.Location {
	return []*profile.Location{f.location(pprofFrame{name: "(not known)"})}
}

func (f *pprofFrames) location(frame pprofFrame) *profile.Location {
	if l := f.locations[frame]; l != nil {
		return l
	}
	p := f.profile
	function := &profile.Function{
		ID: uint64(len(p.Function)) + 1, Name: frame.name, SystemName: frame.name, Filename: frame.file,
	}
	location := &profile.Location{ID: uint64(len(p.Location)) + 1, Mapping: p.Mapping[0], Line: []profile.Line{{Function: function}}}
	p.Function = append(p.Function, function)
	p.Location = append(p.Location, location)
	f.locations[frame] = location
	return location
}

// unitFrame names a process's unit, or what it is instead of a part of one.
func unitFrame(p *timeline.Process) string {
	switch {
	case p.Kernel:
		return "(kernel threads)"
	case p.Unit == nil:
		return "(no unit)"
	}
	return printable(p.Unit.Name)
}

// printable returns a name that a terminal and a reader of UTF-8 can take: control characters and bytes
// that are no UTF-8 become escapes like \x1b.
func printable(s string) string {
	clean := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if clean(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.Quote(s[i : i+n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

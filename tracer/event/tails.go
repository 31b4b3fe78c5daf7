package event

import "bytes"

// Path returns the path from a path event: absolute, or with a leading "…" where its beginning was cut,
// or "" for what has none (pipes, sockets).
func (e *Path) Path() string {
	if e.Flags&PathNone != 0 {
		return ""
	}
	names := splitStrings(e.tail)
	size := 1
	for _, n := range names {
		size += 1 + len(n)
	}
	b := make([]byte, 0, size+len(CutMark))
	if e.Flags&PathCut != 0 {
		b = append(b, CutMark...)
	}
	for i := len(names) - 1; i >= 0; i-- {
		b = append(b, '/')
		b = append(b, names[i]...)
	}
	if len(b) == 0 {
		return "/"
	}
	return string(b)
}

// CutMark stands for the missing beginning of a path that was too long to record.
const CutMark = "…"

// SetPath sets the tail for an absolute path: what the kernel side does, for tests and for the recorder.
func (e *Path) SetPath(path string) {
	names := bytes.Split([]byte(path), []byte("/"))
	var tail []byte
	for i := len(names) - 1; i >= 0; i-- {
		if len(names[i]) > 0 {
			tail = append(append(tail, names[i]...), 0)
		}
	}
	e.SetTail(tail)
}

// Argv returns the arguments, and whether some are missing because they were too long to record.
func (e *Args) Argv() (argv []string, cut bool) {
	return toStrings(splitStrings(e.tail)), e.Total > uint64(len(e.tail))
}

// ExeAndArgv returns what /proc says of the task's program.
func (e *Task) ExeAndArgv() (exe string, argv []string) {
	s := toStrings(splitStrings(e.tail))
	if len(s) == 0 {
		return "", nil
	}
	return s[0], s[1:]
}

// splitStrings splits NUL-terminated strings; the last may lack its NUL.
func splitStrings(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	if b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return bytes.Split(b, []byte{0})
}

func toStrings(b [][]byte) []string {
	s := make([]string, len(b))
	for i := range b {
		s[i] = string(b[i])
	}
	return s
}

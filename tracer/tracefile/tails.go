package tracefile

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// A tailForm is how what follows an event's fixed part stands in the text.
type tailForm struct {
	names []string // of its values
	// show returns the values, "" for what is not there.
	show func(e event.Event) []string
	// read returns the tail for values, of which those not given are "".
	read func(values []string) ([]byte, error)
}

// anyTail shows any tail exactly.
var anyTail = wholeTail("tail")

var tailForms = map[event.Kind]tailForm{
	event.KindExec:       wholeTail("name"),
	event.KindOpen:       wholeTail("name"),
	event.KindCgroup:     wholeTail("path"),
	event.KindMapping:    wholeTail("path"),
	event.KindSocket:     wholeTail("path"),
	event.KindInterrupts: wholeTail("name"),
	event.KindPath:       {[]string{"path"}, showPath, readPath},
	event.KindArgs:       {[]string{"argv"}, showArgs, readArgs},
	event.KindTask:       {[]string{"exe", "argv"}, showTask, readTask},
}

// tailFormOf returns the form that gives the event's tail back exactly.
func tailFormOf(e event.Event) tailForm {
	f, ok := tailForms[event.Kind(e.Head().Kind)]
	if ok {
		if b, err := f.read(f.show(e)); err == nil && bytes.Equal(b, e.Head().TailBytes()) {
			return f
		}
	}
	return anyTail
}

func wholeTail(name string) tailForm {
	return tailForm{
		names: []string{name},
		show: func(e event.Event) []string {
			if b := e.Head().TailBytes(); len(b) > 0 {
				return []string{strconv.Quote(string(b))}
			}
			return []string{""}
		},
		read: func(values []string) ([]byte, error) {
			s, err := unquote(values[0])
			return []byte(s), err
		},
	}
}

// showPath turns names from the leaf up into a path.
func showPath(e event.Event) []string {
	p, ok := e.(*event.Path)
	if !ok || p.Flags&event.PathNone != 0 && len(p.TailBytes()) == 0 {
		return []string{""}
	}
	return []string{strconv.Quote(p.Path())}
}

func readPath(values []string) ([]byte, error) {
	s, err := unquote(values[0])
	var p event.Path
	p.SetPath(strings.TrimPrefix(s, event.CutMark))
	return p.TailBytes(), err
}

func showArgs(e event.Event) []string {
	a, ok := e.(*event.Args)
	if !ok || len(a.TailBytes()) == 0 {
		return []string{""}
	}
	argv, _ := a.Argv()
	return []string{quoteList(argv)}
}

func readArgs(values []string) ([]byte, error) {
	argv, err := unquoteList(values[0])
	return terminated(argv), err
}

func showTask(e event.Event) []string {
	t, ok := e.(*event.Task)
	if !ok || len(t.TailBytes()) == 0 {
		return []string{"", ""}
	}
	exe, argv := t.ExeAndArgv()
	if len(argv) == 0 {
		return []string{strconv.Quote(exe), ""}
	}
	return []string{strconv.Quote(exe), quoteList(argv)}
}

func readTask(values []string) ([]byte, error) {
	if values[0] == "" && values[1] == "" {
		return nil, nil
	}
	exe, err := unquote(values[0])
	if err != nil {
		return nil, err
	}
	argv, err := unquoteList(values[1])
	return terminated(slices.Insert(argv, 0, exe)), err
}

// terminated joins strings, each ended by a NUL.
func terminated(list []string) []byte {
	var b []byte
	for _, s := range list {
		b = append(append(b, s...), 0)
	}
	return b
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// unquote is the opposite of strconv.Quote; nothing stands for the empty string.
func unquote(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if s[0] == '"' {
		if out, err := strconv.Unquote(s); err == nil {
			return out, nil
		}
	}
	return "", fmt.Errorf("%s is not a quoted string, like %q", s, "a b")
}

func unquoteList(s string) (list []string, err error) {
	if s == "" {
		return nil, nil
	}
	wrong := fmt.Errorf(`%s is not a list of quoted strings, like ["a", "b"]`, s)
	rest, ok := strings.CutPrefix(s, "[")
	for ok && rest != "]" {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil || q[0] != '"' {
			return nil, wrong
		}
		item, err := strconv.Unquote(q)
		if err != nil {
			return nil, wrong
		}
		list = append(list, item)
		if rest = rest[len(q):]; rest != "]" {
			rest, ok = strings.CutPrefix(rest, ",")
			rest = strings.TrimLeft(rest, " ")
		}
	}
	if !ok {
		return nil, wrong
	}
	return list, nil
}

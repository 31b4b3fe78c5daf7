package tracefile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// event takes in the line of an event.
func (p *parser) event(line string) error {
	h, name, rest, err := parsePrefix(line)
	if err != nil {
		return err
	}
	spec := p.specs[name]
	if spec == nil {
		return fmt.Errorf("no event is called %q: expected one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(p.specs)), ", "))
	}
	values, err := parseFields(rest)
	if err != nil {
		return err
	}
	h.Kind = uint16(spec.Kind)
	p.text.raw, err = appendEvent(p.text.raw, h, spec, values)
	p.count(h)
	return err
}

// appendEvent appends an event in wire form. values are those of the line.
func appendEvent(b []byte, h event.Header, spec *event.Spec, values map[string]string) ([]byte, error) {
	fixed := make([]byte, spec.Size)
	for i := range spec.Fields {
		f := &spec.Fields[i]
		if f.Offset < event.HeaderSize {
			continue
		}
		if err := parseValue(fixed[f.Offset:], spec, f, values); err != nil {
			return b, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	tail, err := parseTail(spec.Kind, values)
	if err != nil {
		return b, err
	}
	for name := range values {
		return b, fmt.Errorf("%s has no field %q: expected %s", spec.Name, name, strings.Join(fieldNames(spec), ", "))
	}
	binary.LittleEndian.PutUint64(fixed, h.Time)
	binary.LittleEndian.PutUint32(fixed[8:], h.TID)
	binary.LittleEndian.PutUint32(fixed[12:], h.PID)
	binary.LittleEndian.PutUint16(fixed[16:], h.Kind)
	binary.LittleEndian.PutUint16(fixed[18:], h.CPU)
	binary.LittleEndian.PutUint32(fixed[20:], uint32(len(tail)))
	return append(append(b, fixed...), tail...), nil
}

func (p *parser) count(h event.Header) {
	if p.events == 0 {
		p.first, p.last = h.Time, h.Time
	}
	p.events++
	p.first, p.last = min(p.first, h.Time), max(p.last, h.Time)
	p.cpus = max(p.cpus, int(h.CPU)+1)
}

// parsePrefix parses "TIME [CPU] PID/TID NAME", of which the CPU and the ids may be missing.
func parsePrefix(line string) (h event.Header, name, rest string, err error) {
	word, rest := cutWord(line)
	if h.Time, err = parseSeconds(word); err != nil {
		return h, "", "", fmt.Errorf("expected a time, \"header\", \"trailer\" or a comment: %w", err)
	}
	name, rest = cutWord(rest)
	if strings.HasPrefix(name, "[") {
		cpu, err := strconv.ParseUint(strings.Trim(name, "[]"), 10, 16)
		if err != nil {
			return h, "", "", fmt.Errorf("%s is not a CPU, like [001]", name)
		}
		h.CPU = uint16(cpu)
		name, rest = cutWord(rest)
	}
	if name != "" && (name[0] == '?' || name[0] >= '0' && name[0] <= '9') {
		if err := parseIDs(name, &h); err != nil {
			return h, "", "", err
		}
		name, rest = cutWord(rest)
	}
	if name == "" {
		return h, "", "", fmt.Errorf("expected the name of an event after %q", strings.TrimSpace(line))
	}
	return h, name, rest, nil
}

func parseIDs(s string, h *event.Header) error {
	pid, tid, two := strings.Cut(s, "/")
	if !two {
		tid = pid
	}
	thread, err := strconv.ParseUint(tid, 10, 32)
	process := uint64(0)
	if err == nil && pid != "?" {
		process, err = strconv.ParseUint(pid, 10, 32)
	}
	if err != nil {
		return fmt.Errorf("%q is not a process and a thread, like 12, 12/34 or ?/34", s)
	}
	h.TID, h.PID = uint32(thread), uint32(process)
	return nil
}

func cutWord(s string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimLeft(s, " \t"), " ")
	return word, rest
}

// parseFields splits "name=value name=value"; values may be quoted, or lists of quoted strings.
func parseFields(s string) (map[string]string, error) {
	values := map[string]string{}
	for s = strings.TrimLeft(s, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		name, rest, ok := strings.Cut(s, "=")
		if !ok || !isName(name) {
			return nil, fmt.Errorf("expected name=value at %q", s)
		}
		n := valueLength(rest)
		if n == 0 || n < len(rest) && rest[n] != ' ' && rest[n] != '\t' {
			return nil, fmt.Errorf("expected a value and a space after it at %q", s)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		values[name], s = rest[:n], rest[n:]
	}
	return values, nil
}

// valueLength returns how long the value is that s begins with; 0 if it is none.
func valueLength(s string) int {
	quoted := func(s string) int {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return 0
		}
		return len(q)
	}
	switch {
	case strings.HasPrefix(s, `"`):
		return quoted(s)
	case strings.HasPrefix(s, "["):
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case ']':
				return i + 1
			case '"':
				n := quoted(s[i:])
				if n == 0 {
					return 0
				}
				i += n - 1
			}
		}
		return 0
	}
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return i
	}
	return len(s)
}

// parseValue takes the value of a field out of values and puts it into b.
func parseValue(b []byte, spec *event.Spec, f *event.Field, values map[string]string) error {
	s, given := values[f.Name]
	delete(values, f.Name)
	if f.Count > 0 && f.Size == 1 {
		text, err := unquote(s)
		if isDigest(spec, f) {
			digest, err1 := hex.DecodeString(s)
			text, err = string(digest), err1
		}
		if err == nil && len(text) > f.Count {
			err = fmt.Errorf("%d bytes are more than the %d possible", len(text), f.Count)
		}
		copy(b, text)
		return err
	}
	form := formOf(spec, f)
	var items []string
	if given {
		items = strings.Split(s, ",")
	}
	if len(items) > max(1, f.Count) {
		return fmt.Errorf("%d values are more than the %d possible", len(items), max(1, f.Count))
	}
	for i := range max(1, f.Count) {
		v := defaultOf(f)
		if i < len(items) {
			var err error
			if v, err = form.parse(items[i]); err != nil {
				return err
			}
		}
		if err := putNumber(b[i*f.Size:], f, v); err != nil {
			return err
		}
	}
	return nil
}

// putNumber is the opposite of number.
func putNumber(b []byte, f *event.Field, v uint64) error {
	var whole [8]byte
	binary.LittleEndian.PutUint64(whole[:], v)
	copy(b[:f.Size], whole[:f.Size])
	if number(f, b) != v {
		return fmt.Errorf("%d does not fit into %d bytes", int64(v), f.Size)
	}
	return nil
}

// parseTail takes the values of the tail out of values.
func parseTail(kind event.Kind, values map[string]string) ([]byte, error) {
	form, ok := tailForms[kind]
	if _, exact := values["tail"]; exact || !ok {
		form = anyTail
	}
	given := make([]string, len(form.names))
	for i, name := range form.names {
		given[i] = values[name]
		delete(values, name)
	}
	return form.read(given)
}

// fieldNames lists what a line of an event can have.
func fieldNames(spec *event.Spec) (names []string) {
	for _, f := range spec.Fields {
		if f.Offset >= event.HeaderSize {
			names = append(names, f.Name)
		}
	}
	return append(append(names, tailForms[spec.Kind].names...), "tail")
}

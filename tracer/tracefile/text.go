package tracefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/bootscope/bootscope/tracer/event"
)

// WriteText writes a trace as text that ParseText reads, one line per event:
//
//	header {"kernel":"6.1.0",…}
//	12.345678901 [001] 1234/1240 open file=0x2a base=0x0 user_sp=0x7ffc… result=3 …
//	trailer {"end_ns":…}
//
// That is the time in seconds from boot, the CPU, the process and the thread ("1234" when they are the
// same, "?/1240" when the process is not known), the event, and its fields by the spec table. The
// trailer is missing when the trace was cut off. What was damaged follows in comments.
func WriteText(w io.Writer, s Source) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if err := writeLine(out, "header", textHeaderOf(s.Header())); err != nil {
		return err
	}
	t := newTextWriter(s.Header())
	for e, err := range s.Events() {
		if err != nil {
			out.Flush()
			return err
		}
		if _, err := out.Write(t.line(e)); err != nil {
			return err
		}
	}
	if s.Trailer() != nil {
		if err := writeLine(out, "trailer", s.Trailer()); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "# the trace was cut off: it has no trailer\n")
	}
	for _, p := range s.Problems() {
		fmt.Fprintf(out, "# skipped %d bytes at offset %d: %s\n", p.Length, p.Offset, oneLine(p.Cause))
	}
	return out.Flush()
}

// textHeader is a header without the specs that every reader of its text has.
type textHeader struct {
	*Header
	Specs []event.Spec `json:"specs,omitempty"`
}

func textHeaderOf(h *Header) textHeader {
	t := textHeader{Header: h}
	for _, s := range h.Specs {
		if event.SpecOf(s.Kind) == nil {
			t.Specs = append(t.Specs, s)
		}
	}
	return t
}

// writeLine writes a word and JSON.
func writeLine(w io.Writer, word string, v any) error {
	var b bytes.Buffer
	b.WriteString(word + " ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func oneLine(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// A textWriter makes lines of events.
type textWriter struct {
	unknown map[uint16]*event.Spec // of kinds that only the trace's own header knows
	forms   map[*event.Field]form
	wire    []byte
	out     []byte
}

func newTextWriter(h *Header) *textWriter {
	t := &textWriter{unknown: map[uint16]*event.Spec{}, forms: map[*event.Field]form{}}
	for i := range h.Specs {
		t.unknown[uint16(h.Specs[i].Kind)] = &h.Specs[i]
	}
	return t
}

// line returns the line of an event; it is valid until the next call.
func (t *textWriter) line(e event.Event) []byte {
	h := e.Head()
	b := appendTime(t.out[:0], h.Time)
	b = fmt.Appendf(b, " [%03d] ", h.CPU)
	switch {
	case h.PID == 0 && h.TID != 0:
		b = append(b, "?/"...)
	case h.PID != h.TID:
		b = fmt.Appendf(b, "%d/", h.PID)
	}
	b = strconv.AppendUint(b, uint64(h.TID), 10)
	spec := event.SpecOf(event.Kind(h.Kind))
	if spec == nil {
		spec = t.unknown[h.Kind]
	}
	if spec == nil {
		b = fmt.Appendf(b, " # event kind %d is not in the trace's own list", h.Kind)
	} else {
		b = append(append(b, ' '), spec.Name...)
		b = t.fields(b, spec, e)
	}
	t.out = append(b, '\n')
	return t.out
}

// fields appends name=value for each field and for the tail.
func (t *textWriter) fields(b []byte, spec *event.Spec, e event.Event) []byte {
	t.wire = e.AppendTo(t.wire[:0])
	for i := range spec.Fields {
		f := &spec.Fields[i]
		if f.Offset < event.HeaderSize {
			continue
		}
		value := t.wire[f.Offset : f.Offset+width(*f)]
		if isSilent(spec, f, value) {
			continue
		}
		b = append(append(append(b, ' '), f.Name...), '=')
		b = t.value(b, spec, f, value)
	}
	tail := tailFormOf(e)
	for i, value := range tail.show(e) {
		if value != "" {
			b = append(append(append(append(b, ' '), tail.names[i]...), '='), value...)
		}
	}
	return b
}

// isSilent tells whether a field is left out of the line: it says nothing, and is set again by default.
func isSilent(spec *event.Spec, f *event.Field, value []byte) bool {
	switch {
	case isDigest(spec, f):
		return len(bytes.Trim(value, "\x00")) == 0
	case f.Count == 0 && (f.Name == "reserved" || f.Type == "syscall_number"):
		return number(f, value) == defaultOf(f)
	}
	return false
}

// value appends the value of a field: a number, or for an array of bytes a string without the NULs at
// its end (or hexadecimal digits), or for another array numbers with commas.
func (t *textWriter) value(b []byte, spec *event.Spec, f *event.Field, value []byte) []byte {
	if isDigest(spec, f) {
		return hex.AppendEncode(b, value)
	}
	if f.Count > 0 && f.Size == 1 {
		return strconv.AppendQuote(b, string(bytes.TrimRight(value, "\x00")))
	}
	form, ok := t.forms[f]
	if !ok {
		form = formOf(spec, f)
		t.forms[f] = form
	}
	for i := 0; i < len(value); i += f.Size {
		if i > 0 {
			b = append(b, ',')
		}
		b = form.append(b, number(f, value[i:]))
	}
	return b
}

// number reads a number of a field's size; a negative one is extended to 64 bits.
func number(f *event.Field, b []byte) uint64 {
	switch {
	case f.Size == 1 && f.Signed:
		return uint64(int8(b[0]))
	case f.Size == 1:
		return uint64(b[0])
	case f.Size == 2 && f.Signed:
		return uint64(int16(binary.LittleEndian.Uint16(b)))
	case f.Size == 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case f.Size == 4 && f.Signed:
		return uint64(int32(binary.LittleEndian.Uint32(b)))
	case f.Size == 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// Package event knows every event that a trace holds: its kind, its fields with their units, and
// its bytes. It is generated from the BPF object (see bpf/events.h, the one source of truth); the
// hand-written part is what all events share.
//
// It uses the standard library only and must not know where events come from or what they mean.
package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// An Event is one record. Its concrete type is a pointer to the generated struct of its kind.
type Event interface {
	// Head gives access to the fields that every event has.
	Head() *Header
	// AppendTo appends the event's bytes as they are on the wire, the tail included.
	AppendTo(b []byte) []byte
	// decode fills the event from its fixed part, which may be shorter or longer than this
	// version's (another version wrote it), and its tail.
	decode(fixed, tail []byte)
}

// TailBytes returns the bytes that follow an event's fixed part: a name, a path, arguments.
func (h *Header) TailBytes() []byte { return h.tail }

// SetTail sets the bytes that follow the fixed part. They are not copied.
func (h *Header) SetTail(b []byte) {
	h.tail = b
	h.Tail = uint32(len(b))
}

// A Field describes one field of an event, header fields included.
type Field struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // the typedef in events.h: what it means, and its unit
	Offset int    `json:"offset"`
	Size   int    `json:"size"`            // bytes of one element
	Count  int    `json:"count,omitempty"` // elements, for an array
	Signed bool   `json:"signed,omitempty"`
	Doc    string `json:"-"`
}

// A Spec describes a kind of event.
type Spec struct {
	Kind   Kind    `json:"kind"`
	Name   string  `json:"name"`
	Size   int     `json:"size"` // bytes of the fixed part
	Fields []Field `json:"fields"`
	Doc    string  `json:"-"`
}

// SpecOf returns this version's spec of a kind, or nil.
func SpecOf(kind Kind) *Spec {
	if int(kind) < len(specByKind) {
		return specByKind[kind]
	}
	return nil
}

var specByKind = func() (table [256]*Spec) {
	for i := range Specs {
		table[Specs[i].Kind] = &Specs[i]
	}
	return table
}()

// HeaderSize is the size of the part that begins every event.
const HeaderSize = 24

// A Decoder turns the bytes of events into Events, by the specs that their writer had.
type Decoder struct {
	fixed [256]int // size of the fixed part by kind, 0 for a kind the writer didn't have
}

// NewDecoder returns a decoder for events of a writer with these specs.
func NewDecoder(specs []Spec) (*Decoder, error) {
	d := &Decoder{}
	for _, s := range specs {
		if int(s.Kind) >= len(d.fixed) || s.Size < HeaderSize || s.Size > 4096 {
			return nil, fmt.Errorf("event spec %q: kind %d with %d bytes is not possible", s.Name, s.Kind, s.Size)
		}
		d.fixed[s.Kind] = s.Size
	}
	return d, nil
}

// Next decodes the event at the start of b and returns how many bytes it takes. An event of a kind
// that this version doesn't know comes as *Unknown. The event's tail refers to b.
func (d *Decoder) Next(b []byte) (Event, int, error) {
	if len(b) < HeaderSize {
		return nil, 0, fmt.Errorf("event header needs %d bytes, %d left", HeaderSize, len(b))
	}
	kind := binary.LittleEndian.Uint16(b[16:])
	tail := int(binary.LittleEndian.Uint32(b[20:]))
	if int(kind) >= len(d.fixed) || d.fixed[kind] == 0 {
		return nil, 0, fmt.Errorf("event kind %d is not in the trace's own list", kind)
	}
	fixed := d.fixed[kind]
	if tail < 0 || tail > len(b)-fixed {
		return nil, 0, fmt.Errorf("event kind %d needs %d+%d bytes, %d left", kind, fixed, tail, len(b))
	}
	e := New(Kind(kind))
	e.decode(b[:fixed], b[fixed:fixed+tail:fixed+tail])
	return e, fixed + tail, nil
}

// Unknown is an event of a kind that this version doesn't know.
type Unknown struct {
	Header
	Fixed []byte // the whole fixed part, the header included
}

// AppendTo implements Event.
func (e *Unknown) AppendTo(b []byte) []byte { return append(append(b, e.Fixed...), e.tail...) }

func (e *Unknown) decode(fixed, tail []byte) {
	e.decodeHeader(fixed, tail)
	e.Fixed = fixed
}

// padded returns b as an array of at least n bytes: zeros stand for what an older writer didn't have.
func padded(b []byte, n int) []byte {
	if len(b) >= n {
		return b
	}
	return append(append(make([]byte, 0, n), b...), make([]byte, n-len(b))...)
}

// Comm returns a task's name from a fixed-size field: what is before the first NUL.
func Comm(b [16]byte) string {
	if i := bytes.IndexByte(b[:], 0); i >= 0 {
		return string(b[:i])
	}
	return string(b[:])
}

// CommBytes is the opposite of Comm; what doesn't fit is cut, as the kernel does.
func CommBytes(s string) (b [16]byte) {
	copy(b[:15], s)
	return b
}

func nameOr(name string, value uint64) string {
	if name == "" {
		return fmt.Sprint(value)
	}
	return name
}

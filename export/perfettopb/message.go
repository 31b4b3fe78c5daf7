// Package perfettopb encodes the part of Perfetto's trace messages that bootscope writes. fields.go has
// their field numbers, which are facts of the format; here is the encoding of any message.
//
// It must not know what a trace is about, nor the order in which packets come.
package perfettopb

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is a field's number in its message.
type Field = protowire.Number

// Message is a message in the making. It can be reused: one for each depth is enough to write any number.
type Message struct{ b []byte }

// Reset makes the message empty.
func (m *Message) Reset() { m.b = m.b[:0] }

// Bytes returns the encoded message, valid until the next change.
func (m *Message) Bytes() []byte { return m.b }

// Len is the size of the encoded message.
func (m *Message) Len() int { return len(m.b) }

// Uint appends a field of type uint32, uint64 or of an enumeration.
func (m *Message) Uint(f Field, v uint64) {
	m.b = protowire.AppendVarint(protowire.AppendTag(m.b, f, protowire.VarintType), v)
}

// Int appends a field of type int32 or int64. A negative number takes ten bytes.
func (m *Message) Int(f Field, v int64) { m.Uint(f, uint64(v)) }

// Bool appends a field of type bool.
func (m *Message) Bool(f Field, v bool) { m.Uint(f, protowire.EncodeBool(v)) }

// String appends a field of type string, which must be UTF-8: each byte that is none becomes U+FFFD.
func (m *Message) String(f Field, s string) {
	m.b = protowire.AppendTag(m.b, f, protowire.BytesType)
	if utf8.ValidString(s) {
		m.b = protowire.AppendString(m.b, s)
		return
	}
	valid := make([]byte, 0, len(s)+2*utf8.UTFMax)
	for _, r := range s {
		valid = utf8.AppendRune(valid, r)
	}
	m.b = protowire.AppendBytes(m.b, valid)
}

// Message appends a field that is itself a message.
func (m *Message) Message(f Field, sub *Message) {
	m.b = protowire.AppendBytes(protowire.AppendTag(m.b, f, protowire.BytesType), sub.b)
}

// Append appends all fields of another message.
func (m *Message) Append(other *Message) { m.b = append(m.b, other.b...) }

// Packed appends a repeated field of numbers, if there are any.
func (m *Message) Packed(f Field, list *Packed) {
	if len(list.b) > 0 {
		m.b = protowire.AppendBytes(protowire.AppendTag(m.b, f, protowire.BytesType), list.b)
	}
}

// Packed is a list of numbers in the making.
type Packed struct{ b []byte }

// Reset makes the list empty.
func (p *Packed) Reset() { p.b = p.b[:0] }

// Uint appends an unsigned number.
func (p *Packed) Uint(v uint64) { p.b = protowire.AppendVarint(p.b, v) }

// Int appends a signed number. A negative one takes ten bytes.
func (p *Packed) Int(v int64) { p.Uint(uint64(v)) }

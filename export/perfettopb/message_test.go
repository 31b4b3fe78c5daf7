package perfettopb

import (
	"encoding/hex"
	"testing"
)

// TestMessage compares with the bytes that protobuf's documentation of its encoding gives, and with
// others worked out from it.
func TestMessage(t *testing.T) {
	var sub Message
	sub.Uint(1, 150)
	var list Packed
	for _, v := range []uint64{3, 270, 86942} {
		list.Uint(v)
	}
	var empty Packed
	for _, tt := range []struct {
		name string
		fill func(m *Message)
		want string
	}{
		{"number", func(m *Message) { m.Uint(1, 150) }, "089601"},
		{"string", func(m *Message) { m.String(2, "testing") }, "120774657374696e67"},
		{"message", func(m *Message) { m.Message(3, &sub) }, "1a03089601"},
		{"packed", func(m *Message) { m.Packed(6, &list) }, "3206038e029ea705"},
		{"packed, nothing", func(m *Message) { m.Packed(6, &empty) }, ""},
		{"negative", func(m *Message) { m.Int(1, -2) }, "08feffffffffffffffff01"},
		{"bool", func(m *Message) { m.Bool(1, true) }, "0801"},
		{"large field", func(m *Message) { m.Uint(240, 1) }, "800f01"},
		{"no UTF-8", func(m *Message) { m.String(1, "a\xff\xfeb") }, "0a0861efbfbdefbfbd62"},
		{"reset", func(m *Message) { m.Uint(1, 1); m.Reset(); m.Uint(1, 2) }, "0802"},
		{"append", func(m *Message) { m.Append(&sub); m.Append(&sub) }, "089601089601"},
	} {
		var m Message
		tt.fill(&m)
		if got := hex.EncodeToString(m.Bytes()); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

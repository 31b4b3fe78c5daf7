package tracefile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/bootscope/bootscope/tracer/event"
)

// What a spec table may hold at most: it comes from a file.
const (
	maxSpecs     = 256
	maxSpecBytes = 4096
	maxCPUs      = 1 << 16
)

// checkHeader tells what is impossible in a header.
func checkHeader(h *Header) error {
	if h.CPUs < 0 || h.CPUs > maxCPUs {
		return fmt.Errorf("%d CPUs are not possible", h.CPUs)
	}
	if len(h.Specs) > maxSpecs {
		return fmt.Errorf("%d kinds of events are more than the %d possible", len(h.Specs), maxSpecs)
	}
	kinds, names := map[event.Kind]bool{}, map[string]bool{}
	for i := range h.Specs {
		s := &h.Specs[i]
		if kinds[s.Kind] || names[s.Name] {
			return fmt.Errorf("event spec %q (kind %d) is there twice", s.Name, uint16(s.Kind))
		}
		kinds[s.Kind], names[s.Name] = true, true
		if err := checkSpec(s); err != nil {
			return fmt.Errorf("event spec %q: %w", s.Name, err)
		}
	}
	return nil
}

func checkSpec(s *event.Spec) error {
	if !isName(s.Name) {
		return fmt.Errorf("the name is not a word of lower-case letters")
	}
	if s.Kind == 0 || s.Kind >= maxSpecs || s.Size < event.HeaderSize || s.Size > maxSpecBytes {
		return fmt.Errorf("kind %d with %d bytes is not possible", uint16(s.Kind), s.Size)
	}
	names := map[string]bool{}
	end := 0
	for _, f := range s.Fields {
		switch {
		case !isName(f.Name):
			return fmt.Errorf("field %q: the name is not a word of lower-case letters", f.Name)
		case f.Offset < end:
			return fmt.Errorf("field %q begins inside the field before", f.Name)
		case f.Size != 1 && f.Size != 2 && f.Size != 4 && f.Size != 8:
			return fmt.Errorf("field %q has %d bytes, not 1, 2, 4 or 8", f.Name, f.Size)
		case f.Count < 0 || f.Count > maxSpecBytes || f.Offset > maxSpecBytes || f.Offset+width(f) > s.Size:
			return fmt.Errorf("field %q ends after the event", f.Name)
		case f.Offset < event.HeaderSize && f.Offset+width(f) > event.HeaderSize:
			return fmt.Errorf("field %q begins inside the event's header", f.Name)
		}
		end = f.Offset + width(f)
		if f.Offset >= event.HeaderSize {
			if names[f.Name] || f.Name == "tail" {
				return fmt.Errorf("field %q is there twice", f.Name)
			}
			names[f.Name] = true
		}
	}
	return nil
}

// width is how many bytes a field takes.
func width(f event.Field) int { return f.Size * max(1, f.Count) }

// isName: what can stand before "=" in the text form.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != "" && s[0] >= 'a' && len(s) <= 64
}

// parseHeader decodes the header of a trace and checks it.
func parseHeader(raw []byte) (*Header, error) {
	h := &Header{}
	if err := json.Unmarshal(raw, h); err != nil {
		return nil, err
	}
	return h, checkHeader(h)
}

// A sizeTable knows the size of each kind's fixed part; 0 is a kind without a spec.
type sizeTable [maxSpecs]int

func newSizeTable(specs []event.Spec) (t sizeTable) {
	for i := range specs {
		t[specs[i].Kind] = specs[i].Size
	}
	return t
}

// of returns the size of the event that b begins with, its tail included.
func (t *sizeTable) of(b []byte) (int, error) {
	if len(b) < event.HeaderSize {
		return 0, fmt.Errorf("an event's header needs %d bytes, %d are there", event.HeaderSize, len(b))
	}
	kind := binary.LittleEndian.Uint16(b[16:])
	if int(kind) >= len(t) || t[kind] == 0 {
		return 0, fmt.Errorf("event kind %d is not in the trace's own list", kind)
	}
	n := uint64(t[kind]) + uint64(binary.LittleEndian.Uint32(b[20:]))
	if n > uint64(len(b)) {
		return 0, fmt.Errorf("an event of kind %d needs %d bytes, %d are there", kind, n, len(b))
	}
	return int(n), nil
}

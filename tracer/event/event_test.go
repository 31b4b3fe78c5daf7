package event

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

// wire makes the bytes of an event with these random fields and tail.
func wire(rnd *rand.Rand, spec *Spec, tail string) []byte {
	b := make([]byte, spec.Size)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	binary.LittleEndian.PutUint16(b[16:], uint16(spec.Kind))
	binary.LittleEndian.PutUint32(b[20:], uint32(len(tail)))
	return append(b, tail...)
}

func newDecoder(t *testing.T, specs []Spec) *Decoder {
	t.Helper()
	d, err := NewDecoder(specs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEveryKindRoundTrips(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	d := newDecoder(t, Specs)
	for i := range Specs {
		spec := &Specs[i]
		b := wire(rnd, spec, "tail")
		e, n, err := d.Next(append(bytes.Clone(b), 1, 2, 3))
		if err != nil || n != len(b) {
			t.Fatalf("%s: %d bytes of %d, %v", spec.Name, n, len(b), err)
		}
		if got := e.AppendTo(nil); !bytes.Equal(got, b) {
			t.Errorf("%s: %x became %x", spec.Name, b, got)
		}
		if string(e.Head().TailBytes()) != "tail" {
			t.Errorf("%s: tail %q", spec.Name, e.Head().TailBytes())
		}
		if _, unknown := e.(*Unknown); unknown || SpecOf(spec.Kind) != spec {
			t.Errorf("%s is not known", spec.Name)
		}
		if New(spec.Kind).Head().Kind != uint16(spec.Kind) {
			t.Errorf("%s: New has another kind", spec.Name)
		}
	}
}

// The fields of an event follow each other without a gap: all its bytes have a meaning.
func TestSpecsHaveNoGaps(t *testing.T) {
	for _, spec := range Specs {
		end := 0
		for _, f := range spec.Fields {
			if f.Offset != end {
				t.Errorf("%s.%s is at %d, the field before ends at %d", spec.Name, f.Name, f.Offset, end)
			}
			if f.Offset%f.Size != 0 {
				t.Errorf("%s.%s is not aligned", spec.Name, f.Name)
			}
			end = f.Offset + f.Size*max(1, f.Count)
		}
		if end != spec.Size || spec.Kind.String() != spec.Name {
			t.Errorf("%s (%s) has %d bytes, its fields %d", spec.Name, spec.Kind, spec.Size, end)
		}
	}
}

// An older writer's events are shorter, a newer one's longer: what both know is the same.
func TestOtherVersions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, spec := range Specs {
		own := wire(rnd, &spec, "")
		older, newer := spec, spec
		older.Size, newer.Size = HeaderSize, spec.Size+8

		e, n, err := newDecoder(t, []Spec{older}).Next(own[:HeaderSize])
		want := append(bytes.Clone(own[:HeaderSize]), make([]byte, spec.Size-HeaderSize)...)
		if err != nil || n != HeaderSize || !bytes.Equal(e.AppendTo(nil), want) {
			t.Errorf("%s of an older writer: %v, %d bytes, %v", spec.Name, e, n, err)
		}
		e, n, err = newDecoder(t, []Spec{newer}).Next(append(bytes.Clone(own), "newfield"...))
		if err != nil || n != spec.Size+8 || !bytes.Equal(e.AppendTo(nil), own) {
			t.Errorf("%s of a newer writer: %v, %d bytes, %v", spec.Name, e, n, err)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	spec := Spec{Kind: 250, Name: "new", Size: 32}
	b := wire(rand.New(rand.NewPCG(5, 6)), &spec, "xyz")
	e, n, err := newDecoder(t, []Spec{spec}).Next(b)
	if err != nil || n != len(b) || !bytes.Equal(e.AppendTo(nil), b) {
		t.Errorf("%v, %d bytes, %v", e, n, err)
	}
	if u, ok := e.(*Unknown); !ok || u.Kind != 250 || len(u.Fixed) != 32 || SpecOf(250) != nil || SpecOf(60000) != nil {
		t.Errorf("%#v", e)
	}
}

func TestDecoderErrors(t *testing.T) {
	d := newDecoder(t, Specs)
	good := (&Fork{Header: Header{Kind: uint16(KindFork)}}).AppendTo(nil)
	kind, tail, huge := bytes.Clone(good), bytes.Clone(good), bytes.Clone(good)
	binary.LittleEndian.PutUint16(kind[16:], 60000)
	tail[20] = 1
	binary.LittleEndian.PutUint32(huge[20:], 1<<32-1)
	for _, test := range []struct {
		b    []byte
		want string
	}{
		{nil, "event header needs 24 bytes, 0 left"},
		{good[:23], "event header needs 24 bytes, 23 left"},
		{good[:len(good)-1], "needs 40+0 bytes, 39 left"},
		{kind, "kind 60000 is not in the trace's own list"},
		{tail, "needs 40+1 bytes, 40 left"},
		{huge, "needs 40+4294967295 bytes, 40 left"},
	} {
		if _, _, err := d.Next(test.b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%x: %v, want %q", test.b, err, test.want)
		}
	}
	for _, bad := range []Spec{{Kind: 256, Size: 24}, {Kind: 1, Size: 23}, {Kind: 1, Size: 5000}} {
		if _, err := NewDecoder([]Spec{bad}); err == nil || !strings.Contains(err.Error(), "is not possible") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

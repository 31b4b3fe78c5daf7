package export

import (
	"bufio"
	"encoding/hex"
	"io"
	"unicode/utf8"

	pb "github.com/bootscope/bootscope/export/perfettopb"
)

// A perfettoTrack is the uuid of a track.
type perfettoTrack uint64

// perfettoWriter writes packets. Its error stays once there is one.
//
// Strings that come again and again are written once and then called by number. What was written is
// forgotten when it gets too much, so memory does not grow with the number of different strings.
type perfettoWriter struct {
	w      *bufio.Writer
	err    error
	packet pb.Message
	header pb.Message

	event    pb.Message
	interned pb.Message // entries that the next event brings
	tables   [numTables]internTable
	held     int  // bytes that the tables take, about
	cleared  bool // the reader must forget the entries from before
	spare    annotations
}

// Bounds of what the tables hold: bytes, and what a string takes besides its own.
const (
	maxHeld     = 8 << 20
	heldByEntry = 64
)

const (
	categoryTable = iota
	nameTable
	keyTable
	stringTable
	numTables
)

func newPerfettoWriter(w io.Writer) *perfettoWriter {
	p := &perfettoWriter{w: bufio.NewWriterSize(w, 64<<10), cleared: true}
	for i, field := range []pb.Field{pb.InternedCategories, pb.InternedEventNames, pb.InternedAnnotationNames, pb.InternedStrings} {
		p.tables[i] = internTable{field: field, ids: map[string]uint64{}}
	}
	p.spare.w = p
	return p
}

// internTable numbers strings. A number is never used for another string, as the format demands, not
// even after the table was emptied.
type internTable struct {
	field pb.Field
	ids   map[string]uint64
	last  uint64
}

func (p *perfettoWriter) intern(table int, s string) uint64 {
	t := &p.tables[table]
	if id, ok := t.ids[s]; ok {
		return id
	}
	t.last++
	t.ids[s] = t.last
	p.held += len(s) + heldByEntry
	var entry pb.Message
	entry.Uint(pb.EntryID, t.last)
	entry.String(pb.EntryText, s)
	p.interned.Message(t.field, &entry)
	return t.last
}

// forget empties the tables if they have grown too large.
func (p *perfettoWriter) forget() {
	if p.held < maxHeld {
		return
	}
	for i := range p.tables {
		clear(p.tables[i].ids)
	}
	p.held, p.cleared = 0, true
}

// args returns an empty list of annotations for the next event. It is reused: fill it for one event at
// a time.
func (p *perfettoWriter) args() *annotations {
	p.forget()
	p.spare.list.Reset()
	return &p.spare
}

// begin begins a slice on a track. Slices of one track nest.
func (p *perfettoWriter) begin(t perfettoTrack, at uint64, category, name string, a *annotations) {
	p.named(t, at, pb.EventSliceBegin, category, name, a)
}

// instant marks a moment on a track.
func (p *perfettoWriter) instant(t perfettoTrack, at uint64, category, name string, a *annotations) {
	p.named(t, at, pb.EventInstant, category, name, a)
}

func (p *perfettoWriter) named(t perfettoTrack, at uint64, kind uint64, category, name string, a *annotations) {
	p.event.Reset()
	p.event.Uint(pb.EventType, kind)
	p.event.Uint(pb.EventTrack, uint64(t))
	p.event.Uint(pb.EventCategory, p.intern(categoryTable, category))
	p.event.Uint(pb.EventNameID, p.intern(nameTable, name))
	p.event.Append(&a.list)
	p.write(at, pb.PacketTrackEvent, &p.event)
}

// end ends the slice that was begun last on a track and hasn't ended.
func (p *perfettoWriter) end(t perfettoTrack, at uint64) {
	p.event.Reset()
	p.event.Uint(pb.EventType, pb.EventSliceEnd)
	p.event.Uint(pb.EventTrack, uint64(t))
	p.write(at, pb.PacketTrackEvent, &p.event)
}

// sequence is the number of the one sequence of packets that refer to each other.
const sequence = 1

// write writes a packet of the sequence: with a time, and the strings that are new.
func (p *perfettoWriter) write(at uint64, field pb.Field, content *pb.Message) {
	p.packet.Reset()
	p.packet.Uint(pb.PacketTimestamp, at)
	p.packet.Uint(pb.PacketSequence, sequence)
	flags := uint64(pb.SequenceNeedsState)
	if p.cleared {
		flags |= pb.SequenceStateCleared
		p.cleared = false
	}
	p.packet.Uint(pb.PacketSequenceFlags, flags)
	if p.interned.Len() > 0 {
		p.packet.Message(pb.PacketInternedData, &p.interned)
		p.interned.Reset()
	}
	p.packet.Message(field, content)
	p.flush()
}

// plain writes a packet that neither is of the sequence nor has a time.
func (p *perfettoWriter) plain(field pb.Field, content *pb.Message) {
	p.packet.Reset()
	p.packet.Message(field, content)
	p.flush()
}

func (p *perfettoWriter) flush() {
	p.header.Reset()
	p.header.Message(pb.TracePacket, &p.packet)
	if p.err == nil {
		_, p.err = p.w.Write(p.header.Bytes())
	}
}

func (p *perfettoWriter) close() error {
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

// annotations are the arguments of an event.
type annotations struct {
	w    *perfettoWriter
	list pb.Message
	one  pb.Message
}

func (a *annotations) key(k string) *pb.Message {
	a.one.Reset()
	a.one.Uint(pb.AnnotationNameID, a.w.intern(keyTable, k))
	return &a.one
}

func (a *annotations) add() { a.list.Message(pb.EventAnnotation, &a.one) }

// text adds a string, if it is not empty. One that is no UTF-8 can't be had back from what is shown, so
// its bytes follow, in hexadecimal, under the key with "_hex" added: that also marks it.
func (a *annotations) text(k, s string) {
	if s == "" {
		return
	}
	a.key(k).Uint(pb.AnnotationStringID, a.w.intern(stringTable, s))
	a.add()
	if !utf8.ValidString(s) {
		a.text(k+"_hex", hex.EncodeToString([]byte(s)))
	}
}

// texts adds an array of strings, and their bytes likewise if one of them is no UTF-8.
func (a *annotations) texts(k string, list []string) {
	if len(list) == 0 {
		return
	}
	var element pb.Message
	valid := true
	one := a.key(k)
	for _, s := range list {
		element.Reset()
		element.Uint(pb.AnnotationStringID, a.w.intern(stringTable, s))
		one.Message(pb.AnnotationArray, &element)
		valid = valid && utf8.ValidString(s)
	}
	a.add()
	if valid {
		return
	}
	encoded := make([]string, len(list))
	for i, s := range list {
		encoded[i] = hex.EncodeToString([]byte(s))
	}
	a.texts(k+"_hex", encoded)
}

func (a *annotations) number(k string, n int64) {
	a.key(k).Int(pb.AnnotationInt, n)
	a.add()
}

// hex adds an address or bits.
func (a *annotations) hex(k string, n uint64) {
	a.key(k).Uint(pb.AnnotationPointer, n)
	a.add()
}

// flag adds a fact if it is true.
func (a *annotations) flag(k string, v bool) {
	if v {
		a.key(k).Bool(pb.AnnotationBool, v)
		a.add()
	}
}

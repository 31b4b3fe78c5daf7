package tracefile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// maxLine is the longest line of a text.
const maxLine = 16 << 20

// A Text is a trace that was read from text. It implements Source.
type Text struct {
	header  *Header
	trailer *Trailer
	raw     []byte // events in wire form
	decoder *event.Decoder
	sizes   sizeTable
}

// Header implements Source.
func (t *Text) Header() *Header { return t.header }

// Trailer implements Source.
func (t *Text) Trailer() *Trailer { return t.trailer }

// Problems implements Source: a text with something wrong is refused.
func (t *Text) Problems() []Problem { return nil }

// Events implements Source.
func (t *Text) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		c := &cursor{chunk: &chunk{}}
		c.readEvents(t.raw, t.decoder, &t.sizes)
		for c.advance() {
			if !yield(c.event, nil) {
				return
			}
		}
		if c.err != nil {
			yield(nil, c.err)
		}
	}
}

// ParseText reads what WriteText writes. It is made to be written by hand too: the order of lines
// doesn't matter, empty lines and those that begin with # are skipped, a field that is not given is
// zero (a system call: none), and so are the CPU and the ids. What the header doesn't give is set
// from the events: the CPUs that they name, and the start at the first. name is for errors.
func ParseText(name string, r io.Reader) (*Text, error) {
	p := &parser{text: &Text{}}
	p.begin(event.Specs)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := p.line(strings.TrimRight(lines.Text(), "\r")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p.text, nil
}

type parser struct {
	text        *Text
	specs       map[string]*event.Spec
	header      map[string]json.RawMessage // the keys that the header gives
	trailer     map[string]json.RawMessage
	cpus        int
	first, last uint64
	events      int
}

// begin sets the specs by which events are read.
func (p *parser) begin(specs []event.Spec) {
	p.specs = map[string]*event.Spec{}
	for i := range specs {
		p.specs[specs[i].Name] = &specs[i]
	}
}

func (p *parser) line(line string) error {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	switch word, rest, _ := strings.Cut(line, " "); word {
	case "header":
		if p.header != nil || p.events > 0 {
			return fmt.Errorf("the header stands once, before the first event")
		}
		return p.parseHeader(rest)
	case "trailer":
		if p.text.trailer != nil {
			return fmt.Errorf("a second trailer")
		}
		p.text.trailer = &Trailer{}
		return parseJSON(rest, p.text.trailer, &p.trailer)
	}
	return p.event(line)
}

// parseJSON decodes an object strictly, since people write it, and tells which keys it has.
func parseJSON(s string, v any, keys *map[string]json.RawMessage) error {
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("expected a JSON object: %w", err)
	}
	return json.Unmarshal([]byte(s), keys)
}

func (p *parser) parseHeader(s string) error {
	h := &Header{}
	if err := parseJSON(s, h, &p.header); err != nil {
		return err
	}
	own := h.Specs
	h.Specs = slices.Clone(event.Specs)
	for _, s := range own {
		if event.SpecOf(s.Kind) != nil {
			return fmt.Errorf("event spec %q has the kind of %q", s.Name, event.Kind(s.Kind))
		}
		h.Specs = append(h.Specs, s)
	}
	p.text.header = h
	p.begin(h.Specs)
	return checkHeader(h)
}

// finish sets what the text doesn't give.
func (p *parser) finish() (err error) {
	t := p.text
	if t.header == nil {
		t.header = &Header{Specs: event.Specs}
	}
	missing := func(key string) bool { _, ok := p.header[key]; return !ok }
	if missing("cpus") {
		t.header.CPUs = max(1, p.cpus)
	}
	if missing("online") {
		for cpu := range t.header.CPUs {
			t.header.Online = append(t.header.Online, cpu)
		}
	}
	if missing("start_ns") {
		t.header.Start = p.first
	}
	if missing("page_size") {
		t.header.PageSize = 4096
	}
	if missing("tick_hz") {
		t.header.TickHz = 100
	}
	if t.trailer != nil && p.trailer["end_ns"] == nil {
		t.trailer.End = p.last
	}
	t.sizes = newSizeTable(t.header.Specs)
	t.decoder, err = event.NewDecoder(t.header.Specs)
	return err
}

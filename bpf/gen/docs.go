package main

import (
	"bytes"
	"fmt"
	"strings"
)

// writeDocs describes every event for people: what dump prints and what a trace file holds.
func (g *generator) writeDocs() []byte {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Events\n\n<!-- Written by bpf/gen from bpf/events.h (make generate). -->\n")
	p("Every event of a trace, as `bootscope dump` prints it and as a trace file stores it: the fields are")
	p("little-endian and follow one another without gaps; where the text says tail, header.tail bytes follow.\n")
	p("Types are meanings with units: `boot_ns` is nanoseconds of CLOCK_BOOTTIME, `duration_ns` nanoseconds,")
	p("`byte_count` bytes, `kilohertz` kHz, `address` a virtual address. `tid` is a thread and `pid` its process,")
	p("as user space counts them.\n")
	g.docTable(p, "header", "Begins every event.", g.header)
	for _, s := range g.events {
		g.docTable(p, fmt.Sprintf("%s (kind %d)", strings.Trim(s.name, "_"), g.kindVal[kindName(s.name)]), s.doc, s)
	}
	p("# Enumerations and bits\n")
	for _, e := range g.enums {
		p("## %s\n\n| value | name | meaning |\n|---|---|---|", e.Name)
		for _, v := range e.Values {
			p("| %d | %s | %s |", v.Value, v.Name, g.docs.values[v.Name])
		}
		p("")
	}
	return b.Bytes()
}

func (g *generator) docTable(p func(string, ...any), title, doc string, s structure) {
	p("## %s\n\n%s\n\n| offset | field | type | |\n|---|---|---|---|", title, doc)
	for _, f := range s.fields {
		t := f.typedef
		if f.count > 0 {
			t = fmt.Sprintf("%s[%d]", t, f.count)
		}
		p("| %d | %s | %s | %s |", f.offset, f.name, t, f.doc)
	}
	p("")
}

package report

import (
	"bufio"
	"bytes"
	"sort"
)

// screenLines is how many lines the short form may have.
const screenLines = 30

// A table is a part of the report that can be left out.
type table struct {
	name  string
	cost  uint64 // the time that it is about, in nanoseconds: who shows little has to go first
	write func(*text)
}

// tables writes tables in their order. In the short form only those are there for which the screen has
// room, and of them those that are about the most time; a line names the others.
func (t *text) tables(list []table) {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = t.render(list[i].write)
	}
	shown := make([]bool, len(list))
	order := make([]int, len(list))
	room := screenLines - 1 - t.lines()
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return list[order[a]].cost > list[order[b]].cost })
	for _, i := range order {
		n := bytes.Count([]byte(texts[i]), []byte{'\n'})
		if shown[i] = n > 0 && (t.top != DefaultTop || n <= room); shown[i] {
			room -= n
		}
	}
	var more []string
	for i := range list {
		if shown[i] {
			t.WriteString(texts[i])
		} else if texts[i] != "" {
			more = append(more, list[i].name)
		}
	}
	t.more(more)
}

// more names the tables for which there was no room.
func (t *text) more(names []string) {
	if len(names) == 0 {
		return
	}
	line := "More with --top 0: " + names[0]
	for _, name := range names[1:] {
		line += ", " + name
	}
	t.line("%s.", line)
}

// render returns what a part writes.
func (t *text) render(write func(*text)) string {
	var b bytes.Buffer
	part := &text{Writer: bufio.NewWriter(&b), r: t.r, top: t.top}
	write(part)
	part.Flush()
	return b.String()
}

// lines counts what was written until now.
func (t *text) lines() int {
	t.Flush()
	return bytes.Count(t.written.Bytes(), []byte{'\n'})
}

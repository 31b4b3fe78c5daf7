package perfettotest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A node is a message in protoc's text form.
type node struct {
	values map[string][]string // numbers and strings, as they stand there
	nodes  map[string][]*node
}

// parseText reads what protoc --decode writes, and calls got with each message at the top.
func parseText(r io.Reader, got func(name string, n *node) error) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	stack := []*node{newNode()}
	names := []string{""}
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			break
		}
		if err != nil && err != io.EOF {
			return err
		}
		line = strings.TrimSpace(line)
		top := stack[len(stack)-1]
		switch {
		case line == "}":
			if len(stack) == 1 {
				return fmt.Errorf("line %d: unbalanced }", number)
			}
			name := names[len(names)-1]
			stack, names = stack[:len(stack)-1], names[:len(names)-1]
			if len(stack) > 1 {
				parent := stack[len(stack)-1]
				parent.nodes[name] = append(parent.nodes[name], top)
			} else if err := got(name, top); err != nil {
				return fmt.Errorf("the message that ends in line %d: %w", number, err)
			}
		case line[0] >= '0' && line[0] <= '9':
			return fmt.Errorf("line %d: field %q is not in the schema", number, line)
		case strings.HasSuffix(line, " {"):
			stack, names = append(stack, newNode()), append(names, strings.TrimSuffix(line, " {"))
		default:
			name, value, ok := strings.Cut(line, ": ")
			if !ok {
				return fmt.Errorf("line %d: %q is no field", number, line)
			}
			top.values[name] = append(top.values[name], value)
		}
	}
	if len(stack) > 1 {
		return fmt.Errorf("%d messages have no end", len(stack)-1)
	}
	return nil
}

func newNode() *node { return &node{values: map[string][]string{}, nodes: map[string][]*node{}} }

// child returns a message that is there at most once, or nil.
func (n *node) child(name string) *node {
	if list := n.nodes[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

func (n *node) has(name string) bool { return len(n.values[name]) > 0 }

// int returns a number, 0 if it is not there.
func (n *node) int(name string) int64 {
	if !n.has(name) {
		return 0
	}
	return number(n.values[name][0])
}

// time returns a number of nanoseconds.
func (n *node) time(name string) uint64 { return uint64(n.int(name)) }

// truth returns a bool.
func (n *node) truth(name string) bool { return n.has(name) && n.values[name][0] == "true" }

// number reads a number of up to 64 bits; an unsigned one above those of int64 wraps around.
func number(s string) int64 {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("protoc wrote %q for a number", s))
	}
	return int64(v)
}

func (n *node) ints(name string) []int64 {
	list := make([]int64, len(n.values[name]))
	for i, s := range n.values[name] {
		list[i] = number(s)
	}
	return list
}

// text returns a string, "" if it is not there.
func (n *node) text(name string) string {
	if !n.has(name) {
		return ""
	}
	return unquote(n.values[name][0])
}

func (n *node) texts(name string) []string {
	list := make([]string, len(n.values[name]))
	for i, s := range n.values[name] {
		list[i] = unquote(s)
	}
	return list
}

// unquote reads a string with C's escapes, which are Go's but for \'.
func unquote(s string) string {
	v, err := strconv.Unquote(strings.ReplaceAll(s, `\'`, `'`))
	if err != nil {
		panic(fmt.Sprintf("protoc wrote %s for a string", s))
	}
	return v
}

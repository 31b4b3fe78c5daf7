//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// output is where tables go.
var output io.Writer = os.Stdout

// A table is printed as Markdown, so that it can go into the docs as it is.
type table struct {
	title   string // "" where the document has one already
	columns []string
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// addMissing adds the row of what can't be measured here.
func (t *table) addMissing(name, reason string) {
	t.add(append([]string{name, reason}, make([]string, len(t.columns)-2)...)...)
}

func (t *table) print() {
	if t.title != "" {
		fmt.Fprintf(output, "\n### %s\n", t.title)
	}
	fmt.Fprintf(output, "\n| %s |\n|%s\n", strings.Join(t.columns, " | "), strings.Repeat("---|", len(t.columns)))
	for _, row := range t.rows {
		fmt.Fprintf(output, "| %s |\n", strings.Join(row, " | "))
	}
}

// replaceTables puts text between the two comments in a document that mark a table's place.
func replaceTables(document, name, text string) error {
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	begin, end := []byte("<!-- bench "+name+" -->\n"), []byte("<!-- end "+name+" -->\n")
	before, rest, ok1 := bytes.Cut(old, begin)
	_, after, ok2 := bytes.Cut(rest, end)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no place for the tables of %s: %s … %s", document, name, bytes.TrimSpace(begin), bytes.TrimSpace(end))
	}
	made := bytes.Join([][]byte{before, begin, []byte(strings.TrimLeft(text, "\n")), end, after}, nil)
	return os.WriteFile(document, made, 0o644)
}

// printMachine says what was measured, when and on what.
func printMachine(s *setup) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	fmt.Fprintf(output, "Machine: %s, %d CPUs, %s of memory, Linux %s %s; load when the measuring began: %s.\n", valueIn("/proc/cpuinfo", "model name"),
		runtime.NumCPU(), valueIn("/proc/meminfo", "MemTotal"), unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]),
		strings.Join(strings.Fields(string(load))[:3], " "))
	fmt.Fprintf(output, "%s; %d rounds at most, loads of %g times their size.\n", time.Now().UTC().Format("2006-01-02 15:04 MST"), s.rounds, s.scale)
	for _, argv := range [][]string{{s.bootscope, "--version"}, {"perf", "--version"}, {"trace-cmd", "--version"}, {"bpftrace", "--version"}, {"strace", "--version"}, {"/usr/bin/python3", "--version"}} {
		fmt.Fprintf(output, "* %s\n", versionOf(argv))
	}
	return nil
}

// valueIn is the first value of a key in a file of "key : value" lines.
func valueIn(file, key string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func versionOf(argv []string) string {
	text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil && len(text) == 0 {
		return argv[0] + ": not installed"
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return argv[0]
}

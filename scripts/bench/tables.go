//go:build linux

package main

import (
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

// findTables splits a document at the two comments that mark the place of a bench's tables. The comments
// stay with what is before and after.
func findTables(document, name string) (before, after string, err error) {
	text, err := os.ReadFile(document)
	if err != nil {
		return "", "", err
	}
	begin, end := "<!-- bench "+name+" -->\n", "<!-- end "+name+" -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	if found {
		_, after, found = strings.Cut(rest, end)
	}
	if !found {
		return "", "", fmt.Errorf("%s has no place for the tables of %s: the lines %q and %q", document, name, begin, end)
	}
	return before + begin, end + after, nil
}

func replaceTables(document, name, text string) error {
	before, after, err := findTables(document, name)
	if err != nil {
		return err
	}
	return os.WriteFile(document, []byte(before+strings.TrimLeft(text, "\n")+after), 0o644)
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

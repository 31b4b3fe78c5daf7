//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A sample is one measurement repeated: the median is quoted, the spread says how far to trust it.
type sample []float64

func (s sample) sorted() sample { c := slices.Clone(s); slices.Sort(c); return c }

func (s sample) median() float64 {
	c := s.sorted()
	if len(c) == 0 {
		return 0
	}
	return (c[(len(c)-1)/2] + c[len(c)/2]) / 2
}

// spread is "least–most".
func (s sample) spread(format string) string {
	c := s.sorted()
	if len(c) == 0 {
		return "-"
	}
	return fmt.Sprintf(format+"–"+format, c[0], c[len(c)-1])
}

// minus returns the differences, round by round.
func (s sample) minus(other sample) sample {
	d := make(sample, 0, len(s))
	for i := range min(len(s), len(other)) {
		d = append(d, s[i]-other[i])
	}
	return d
}

// A table is printed as Markdown, so that it can go into the docs as it is.
type table struct {
	title   string
	columns []string
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print() {
	fmt.Printf("\n### %s\n\n| %s |\n|%s\n", t.title, strings.Join(t.columns, " | "), strings.Repeat("---|", len(t.columns)))
	for _, row := range t.rows {
		fmt.Printf("| %s |\n", strings.Join(row, " | "))
	}
}

func printMachine() {
	var u unix.Utsname
	_ = unix.Uname(&u)
	model := "?"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("Machine: %s, %d CPUs, Linux %s, load %s", model, runtime.NumCPU(), unix.ByteSliceToString(u.Release[:]), load)
}

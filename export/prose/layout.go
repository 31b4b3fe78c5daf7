// Package prose writes names, numbers and paragraphs for people and for JSON, in one way everywhere. It must not
// know what they are about.
package prose

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Columns is how wide a terminal is.
const Columns = 80

// Width is how many columns a text takes; a character counts as one.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Cut shortens a text to n columns.
func Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	return string([]rune(s)[:max(n-3, 0)]) + "..."
}

// CutLeft shortens a path to n columns: its end says most.
func CutLeft(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	if n < 8 { // too little to tell anything
		return ""
	}
	r := []rune(s)
	return "..." + string(r[len(r)-n+3:])
}

// Wrap breaks a text between words into lines of n columns. Lines after the first are indented. A word
// that is longer than a line is cut.
func Wrap(s string, n, indent int) []string {
	lead := len(s) - len(strings.TrimLeft(s, " "))
	line := strings.Repeat(" ", lead)
	var lines []string
	empty := true
	for _, word := range strings.Fields(s) {
		if !empty && Width(line)+1+Width(word) > n {
			lines = append(lines, line)
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = Cut(lines[i], n)
	}
	return lines
}

// Seconds writes a time with its unit, to the millisecond where that matters.
func Seconds(ns uint64) string {
	if ns >= 1000e9 {
		return fmt.Sprintf("%.1f s", float64(ns)/1e9)
	}
	return fmt.Sprintf("%.3f s", float64(ns)/1e9)
}

// SecondsOr writes a time, or a dash for one that was not measured.
func SecondsOr(ns uint64, known bool) string {
	if !known {
		return "-"
	}
	return Seconds(ns)
}

// Size writes bytes with a unit.
func Size(n uint64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Count writes a number of things.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const columns = 80

// width is how many columns a text takes; a character counts as one.
func width(s string) int { return utf8.RuneCountInString(s) }

// cut shortens a text to n columns.
func cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	return string([]rune(s)[:max(n-3, 0)]) + "..."
}

// cutLeft shortens a path to n columns: its end says most.
func cutLeft(s string, n int) string {
	if width(s) <= n {
		return s
	}
	if n < 8 { // too little to tell anything
		return ""
	}
	r := []rune(s)
	return "..." + string(r[len(r)-n+3:])
}

// wrap breaks a text between words into lines of n columns. Lines after the first are indented. A word
// that is longer than a line is cut.
func wrap(s string, n, indent int) []string {
	lead := len(s) - len(strings.TrimLeft(s, " "))
	line := strings.Repeat(" ", lead)
	var lines []string
	empty := true
	for _, word := range strings.Fields(s) {
		if !empty && width(line)+1+width(word) > n {
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
		lines[i] = cut(lines[i], n)
	}
	return lines
}

// seconds writes a time with its unit, to the millisecond where that matters.
func seconds(ns uint64) string {
	if ns >= 1000e9 {
		return fmt.Sprintf("%.1f s", float64(ns)/1e9)
	}
	return fmt.Sprintf("%.3f s", float64(ns)/1e9)
}

// secondsOr writes a time, or a dash for one that was not measured.
func secondsOr(ns uint64, known bool) string {
	if !known {
		return "-"
	}
	return seconds(ns)
}

// size writes bytes with a unit.
func size(n uint64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

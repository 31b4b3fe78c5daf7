//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// spentSamples are what own loads tell: nanoseconds for each call.
type spentSamples struct{ wall, cpu sample }

// read takes what loads have printed, a line each. Other programs print other things.
func (s *spentSamples) read(text string) {
	for line := range strings.Lines(text) {
		var wall, cpu float64
		if n, _ := fmt.Sscanf(line, "%g %g\n", &wall, &cpu); n == 2 {
			s.wall, s.cpu = append(s.wall, wall), append(s.cpu, cpu)
		}
	}
}

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

// text is the median with the spread.
func (s sample) text(format string) string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf(format, s.median()) + " (" + s.spread(format) + ")"
}

// times multiplies each value.
func (s sample) times(factor float64) sample {
	c := slices.Clone(s)
	for i := range c {
		c[i] *= factor
	}
	return c
}

// over returns the ratios, round by round.
func (s sample) over(other sample) sample {
	r := make(sample, 0, len(s))
	for i := range min(len(s), len(other)) {
		if other[i] != 0 {
			r = append(r, s[i]/other[i])
		}
	}
	return r
}

// plus returns the sums, round by round.
func (s sample) plus(other sample) sample { return s.minus(other.times(-1)) }

// minus returns the differences, round by round.
func (s sample) minus(other sample) sample {
	d := make(sample, 0, len(s))
	for i := range min(len(s), len(other)) {
		d = append(d, s[i]-other[i])
	}
	return d
}

package python

import (
	"slices"
	"sort"
)

// Calibration is what one build of Python adds to its stack for an import. The steps are constants of the
// build, so they stand out among the differences between one open and the next.
type Calibration struct {
	Exe string
	// Step is how much deeper an import is than the import whose module asked for it.
	Step uint64
	// Behalf is how much deeper a package is that is imported only because its submodule was asked for.
	Behalf uint64
	// From is how much deeper a submodule is imported by "from package import submodule" than by "import".
	From uint64
	// Loader is how much deeper the dynamic loader opens an extension module.
	Loader uint64
	// Ceiling is how much shallower the stack can be, while a module is imported, than it was at the open.
	Ceiling uint64
	// Lead is how long an import looks for its file before it opens it, in time that the thread could use.
	Lead uint64
	// Differences is how many differences there were, and Agree how many of them fit the steps.
	Differences, Agree int
}

// Confidence says how much the calibration can be trusted.
type Confidence uint8

// The grades of confidence.
const (
	NoConfidence Confidence = iota // no step was found: the imports are shown as a list, not as a tree
	Low                            // few opens, or many differences that fit no step
	High
)

// String returns the grade in lower case.
func (c Confidence) String() string { return [...]string{"none", "low", "high"}[c] }

// Thresholds of confidence: real interpreters have 0.6 and more of their differences explained.
const (
	fewDifferences = 12
	shareForHigh   = 0.5
)

// Confidence grades the calibration.
func (c *Calibration) Confidence() Confidence {
	switch {
	case c.Step == 0:
		return NoConfidence
	case c.Differences < fewDifferences || float64(c.Agree) < shareForHigh*float64(c.Differences):
		return Low
	}
	return High
}

// Bounds of what a step can be. Builds of CPython 3.8 to 3.13 have 0x5f0 to 0xfa0.
const (
	leastStep = 0x200
	// The loader's own frames have room for a path and the beginning of a file.
	leastLoader = 0x200
	mostStep    = 0x4000
	// A stack this far away is another one: another thread's, or a signal's.
	otherStack = 8 << 20
)

// pair is two imports of one thread, one after the other.
type pair struct {
	from, to *mark
	between  []mark
}

// deeper is how much deeper the second is, negative if it is shallower.
func (p pair) deeper() int64 { return int64(p.from.sp - p.to.sp) }

func (p pair) kinds(from, to bool) bool {
	return (p.from.open.file.kind == extension) == from && (p.to.open.file.kind == extension) == to
}

// calibrate finds the steps from everything that one executable did.
func calibrate(exe string, runs []*run, names map[*Open]string) *Calibration {
	pairs := pairsOf(runs)
	c := &Calibration{Exe: exe}
	step := histogram{}
	for _, p := range pairs {
		from, to := names[p.from.open], names[p.to.open]
		// A submodule that comes after its package may be a level of another kind away, and Python asks for its
		// codecs from elsewhere than for the program's modules.
		d := abs(p.deeper())
		if p.kinds(false, false) && d >= leastStep && d <= mostStep && levelsBelow(to, from) == 0 &&
			levelsBelow(from, "encodings") == 0 {
			step[d]++
		}
	}
	c.Step = step.mode()
	if c.Step == 0 {
		return c
	}
	behalf, loader, from := histogram{}, histogram{}, histogram{}
	for _, p := range pairs {
		d := p.deeper()
		switch {
		case p.kinds(false, false) && d < 0 && uint64(-d) < c.Step && levelsBelow(names[p.to.open], names[p.from.open]) == 1:
			behalf[uint64(-d)]++
		case p.kinds(false, false) && d > int64(c.Step)+slack && d < int64(c.Step)*19/10:
			from[uint64(d)-c.Step]++
		case p.kinds(false, true) && abs(d) < mostStep:
			// However many levels lie between the two, the remainder is the same.
			loader[uint64(((d-leastLoader)%int64(c.Step)+int64(c.Step))%int64(c.Step))+leastLoader]++
		}
	}
	c.Behalf, c.Loader, c.From = behalf.mode(), loader.mode(), from.mode()
	c.Ceiling = c.ceiling(pairs, versionOf(runs[0].tag))
	c.Lead = lead(pairs)
	c.count(pairs)
	return c
}

// count judges how many differences fit: the same level again, a step down, or any number of steps up, each
// also with a package on behalf of its submodule, or with a submodule that is asked for by its package.
func (c *Calibration) count(pairs []pair) {
	fits := func(d uint64) bool {
		for _, extra := range []uint64{0, c.Behalf, c.From} {
			if d%c.Step == extra%c.Step || (d+extra)%c.Step == 0 {
				return true
			}
		}
		return false
	}
	deepest := int64(c.Step + max(c.Behalf, c.From))
	for _, p := range pairs {
		if p.kinds(false, false) && abs(p.deeper()) < otherStack {
			c.Differences++
			if d := p.deeper(); d <= deepest && fits(abs(d)) {
				c.Agree++
			}
		}
	}
}

// Where no package on behalf of its submodule was seen, this is what it must be, in steps: builds have 0.57
// to 0.73.
const (
	leastBehalf = 0.5
	mostBehalf  = 0.8
	// slack is how much a step may vary: stacks are aligned to 16 bytes.
	slack = 16
)

// onBehalf tells whether a module that is so much shallower than a package some levels above it, which came
// just before, can be the one that the package was imported for.
func (c *Calibration) onBehalf(shallower int64, levels int) bool {
	if c.Behalf != 0 {
		return abs(shallower-int64(levels)*int64(c.Behalf)) <= slack
	}
	steps := float64(shallower) / float64(c.Step) / float64(levels)
	return steps >= leastBehalf && steps <= mostBehalf
}

// Ceiling's bounds, in steps. While a module is read, importlib's own frames are up to so much shallower than
// the open; the importer's body is 1.3 to 1.6 steps above it.
const (
	leastCeiling = 0.6
	mostCeiling  = 1.2
	// What samples saw is not quite the most that there can be.
	overObserved   = 1.3
	enoughObserved = 60
)

// usualCeiling is what holds where too little was seen. From 3.11 on, Python's calls take no stack, so the
// distances are smaller, and larger in steps.
func usualCeiling(version string) float64 {
	switch version {
	case "3.6", "3.7", "3.8", "3.9", "3.10":
		return 0.65
	}
	return 1.1
}

// ceiling looks for the shallowest stack within imports that surely went on: the next one was a step deeper.
func (c *Calibration) ceiling(pairs []pair, version string) uint64 {
	highest, observed := int64(0), 0
	for _, p := range pairs {
		if !p.kinds(false, false) || p.deeper() != int64(c.Step) {
			continue
		}
		for i := range p.between {
			if m := &p.between[i]; m.sp != 0 && abs(int64(m.sp-p.from.sp)) < otherStack {
				observed++
				highest = max(highest, int64(m.sp-p.from.sp))
			}
		}
	}
	step := float64(c.Step)
	if observed < enoughObserved {
		return uint64(usualCeiling(version) * step)
	}
	return uint64(min(max(overObserved*float64(highest), leastCeiling*step), mostCeiling*step))
}

// leadShare is how much of the time from one import to the next goes to looking for the next one's file, in
// the middle. Compared with logs of the same runs, 0.7 to 1 gave the least errors.
const leadShare = 0.8

// lead estimates how long an import looks for its file.
func lead(pairs []pair) uint64 {
	lengths := make([]uint64, 0, len(pairs))
	for _, p := range pairs {
		grown := since(&p.to.times, &p.from.times)
		lengths = append(lengths, progress(&grown))
	}
	if len(lengths) == 0 {
		return 0
	}
	slices.Sort(lengths)
	return uint64(leadShare * float64(lengths[len(lengths)/2]))
}

// pairsOf returns each two imports that followed each other.
func pairsOf(runs []*run) (pairs []pair) {
	for _, r := range runs {
		for _, t := range r.tracks {
			last := -1
			for i := range t.marks {
				m := &t.marks[i]
				if m.what != imported || m.sp == 0 {
					continue
				}
				if last >= 0 {
					pairs = append(pairs, pair{&t.marks[last], m, t.marks[last+1 : i]})
				}
				last = i
			}
		}
	}
	return pairs
}

type histogram map[uint64]int

// mode returns the most frequent value, the least of several, or 0 if there is none.
func (h histogram) mode() uint64 {
	values := make([]uint64, 0, len(h))
	for v := range h {
		values = append(values, v)
	}
	sort.Slice(values, func(i, j int) bool {
		a, b := values[i], values[j]
		return h[a] > h[b] || h[a] == h[b] && a < b
	})
	if len(values) == 0 {
		return 0
	}
	return values[0]
}

func abs(d int64) uint64 {
	if d < 0 {
		return uint64(-d)
	}
	return uint64(d)
}

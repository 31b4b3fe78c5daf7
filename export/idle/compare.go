package idle

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// CompareSchema names the form of the JSON of a comparison.
const CompareSchema = "bootscope.idle-comparison/1"

// CompareJSON writes one document with all windows, each as JSON writes it.
func CompareJSON(w io.Writer, governors []string, windows []*Idle) error {
	type window struct {
		Governor string `json:"governor"`
		*document
	}
	d := struct {
		Schema  string   `json:"schema"`
		Windows []window `json:"windows"`
	}{CompareSchema, []window{}}
	for k, i := range windows {
		d.Windows = append(d.Windows, window{governors[k], documentOf(i)})
	}
	return encode(w, d)
}

// CompareText writes the windows side by side, one column each.
func CompareText(w io.Writer, governors []string, windows []*Idle) error {
	c := comparison{bufio.NewWriter(w), windows}
	c.row("", func(i *Idle) string { return "" }, governors...)
	c.row("recorded", func(i *Idle) string { return prose.Seconds(i.Duration()) })
	c.row("busy", func(i *Idle) string { return fmt.Sprintf("%.2f %%", i.percent(i.Busy)) })
	c.row("wake-ups", func(i *Idle) string { return fmt.Sprintf("%.1f/s", i.perSecond(i.wakeupsOfAll())) })
	for k := range windows[0].Policies {
		c.policy(k)
	}
	for k, s := range windows[0].Header.Sensors {
		c.row(prose.Printable(s.Name), func(i *Idle) string {
			if i.Trailer == nil || k >= len(i.Trailer.Sensors) {
				return "-"
			}
			return fmt.Sprintf("%.1f C", float64(i.Trailer.Sensors[k].MilliCelsius)/1e3)
		})
	}
	return c.Flush()
}

type comparison struct {
	*bufio.Writer
	windows []*Idle
}

// row writes a line: what it is about, and a value of each window, or the values that are given.
func (c *comparison) row(what string, value func(*Idle) string, values ...string) {
	line := fmt.Sprintf("%-26s", prose.Cut(what, 26))
	for k, i := range c.windows {
		text := value(i)
		if k < len(values) {
			text = values[k]
		}
		line += fmt.Sprintf(" %12s", prose.Cut(text, 12))
	}
	fmt.Fprintln(c.Writer, strings.TrimRight(line, " "))
}

// policy writes what a policy did in each window.
func (c *comparison) policy(k int) {
	first := c.windows[0].Policies[k]
	of := func(value func(*Idle, *timeline.FreqPolicy) string) func(*Idle) string {
		return func(i *Idle) string {
			if k >= len(i.Policies) || !i.Can.CPUFreq {
				return "-"
			}
			return value(i, i.Policies[k])
		}
	}
	c.row(first.Name+" changes", of(func(i *Idle, p *timeline.FreqPolicy) string {
		return fmt.Sprintf("%.1f/s", i.perSecond(p.Transitions))
	}))
	c.row(first.Name+" mean frequency", of(func(_ *Idle, p *timeline.FreqPolicy) string { return meanFrequency(p) }))
	for _, khz := range c.frequencies(k) {
		c.row(fmt.Sprintf("%s at %.0f MHz", first.Name, float64(khz)/1e3), of(func(i *Idle, p *timeline.FreqPolicy) string {
			return fmt.Sprintf("%.1f %%", 100*float64(timeAt(p, khz))/float64(max(i.Duration(), 1)))
		}))
	}
	c.row(first.Name+" governor's thread", of(func(i *Idle, p *timeline.FreqPolicy) string {
		th := i.GovernorThread(p)
		if th == nil {
			return "-"
		}
		return fmt.Sprintf("%.2f %%", i.percent(i.cpuOf(th)))
	}))
}

// frequencies lists those that a policy had in any window, the lowest first.
func (c *comparison) frequencies(k int) []uint32 {
	seen := map[uint32]bool{}
	for _, i := range c.windows {
		if k < len(i.Policies) {
			for _, t := range i.Policies[k].Times {
				seen[t.KHz] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func timeAt(p *timeline.FreqPolicy, khz uint32) uint64 {
	for _, t := range p.Times {
		if t.KHz == khz {
			return t.Time
		}
	}
	return 0
}

func meanFrequency(p *timeline.FreqPolicy) string {
	var time, weighted float64
	for _, t := range p.Times {
		time += float64(t.Time)
		weighted += float64(t.Time) * float64(t.KHz)
	}
	if time == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f MHz", weighted/time/1e3)
}

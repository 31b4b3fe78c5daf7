package idle

import (
	"fmt"
	"sort"
	"strings"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// frequencies says in one line each what the governors do, and the temperature.
func (t *text) frequencies() {
	i := t.i
	if i.cpus() == 1 {
		t.line("One CPU: its share is the share of all.")
	}
	if len(i.Policies) == 0 {
		t.line("No cpufreq: this kernel doesn't set the CPU's frequency.")
	}
	for _, p := range i.Policies {
		if len(p.CPUs) == 0 {
			t.line("%s: its CPUs are offline.", p.Name)
			continue
		}
		t.paragraph(i.policyLine(p), 2)
	}
	t.paragraph(i.temperatureLine(), 2)
}

func (i *Idle) policyLine(p *timeline.FreqPolicy) string {
	line := fmt.Sprintf("%s (%s)", p.Name, cpuList(p.CPUs))
	if p.Governor != "" {
		line += ", " + prose.Printable(p.Governor)
	}
	if !i.Can.CPUFreq {
		return line + ": changes are not recorded, the cpufreq probe is off."
	}
	line += fmt.Sprintf(": %.1f changes/s", i.perSecond(p.Transitions))
	if times := i.timesAt(p); times != "" {
		line += "; " + times
	}
	if th := i.GovernorThread(p); th != nil {
		line += fmt.Sprintf("; %s takes %.2f %%", th.Name(), i.percent(i.cpuOf(th)))
	}
	return line + "."
}

// timesAt writes the share of each frequency.
func (i *Idle) timesAt(p *timeline.FreqPolicy) string {
	var parts []string
	for _, f := range p.Times {
		parts = append(parts, fmt.Sprintf("%.0f MHz %.1f %%", float64(f.KHz)/1e3, 100*float64(f.Time)/float64(max(i.Duration(), 1))))
	}
	return strings.Join(parts, ", ")
}

func cpuList(cpus []int) string {
	if len(cpus) == 1 {
		return fmt.Sprintf("CPU %d", cpus[0])
	}
	if n := len(cpus); n > 1 && cpus[n-1]-cpus[0] == n-1 {
		return fmt.Sprintf("CPUs %d-%d", cpus[0], cpus[n-1])
	}
	return "CPUs " + strings.Trim(fmt.Sprint(cpus), "[]")
}

// temperatureLine tells the temperatures at the end, and how they changed.
func (i *Idle) temperatureLine() string {
	sensors := i.Header.Sensors
	if i.Trailer != nil && len(i.Trailer.Sensors) > 0 {
		sensors = i.Trailer.Sensors
	}
	if len(sensors) == 0 {
		return "No temperature: this machine has no sensor that Linux knows."
	}
	var parts []string
	for k, s := range sensors {
		part := fmt.Sprintf("%s %.1f C", prose.Printable(s.Name), float64(s.MilliCelsius)/1e3)
		if change := i.warmed(k, s); change != 0 {
			part += fmt.Sprintf(" (%+.1f)", float64(change)/1e3)
		}
		parts = append(parts, part)
	}
	return "Temperature: " + strings.Join(parts, ", ") + "."
}

// warmed is by how much a sensor's value has grown.
func (i *Idle) warmed(k int, s tracefile.Sensor) int64 {
	if k >= len(i.Header.Sensors) || i.Header.Sensors[k].Name != s.Name {
		return 0
	}
	return s.MilliCelsius - i.Header.Sensors[k].MilliCelsius
}

// kernelTransitions is the kernel's own count of changes while recording, nil where it doesn't count.
func (i *Idle) kernelTransitions(name string) *uint64 {
	if i.Trailer == nil {
		return nil
	}
	before, after := transitionsOf(i.Header.CPUFreq, name), transitionsOf(i.Trailer.CPUFreq, name)
	if before == nil || after == nil || *after < *before {
		return nil
	}
	return prose.Known(*after-*before, true)
}

func transitionsOf(list []tracefile.FreqPolicy, name string) *uint64 {
	for _, p := range list {
		if p.Name == name {
			return p.Transitions
		}
	}
	return nil
}

func (i *Idle) interruptsByTime() []timeline.Interrupts {
	list := append([]timeline.Interrupts(nil), i.Interrupts...)
	sort.SliceStable(list, func(a, b int) bool { return list[a].Time > list[b].Time })
	return list
}

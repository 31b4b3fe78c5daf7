//go:build vmtest

package vmtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// expected tells how each probe has to be attached, with BTF and without; "" is off. A worse way than this
// is a failure, and so is a better one: the documentation claims no other.
var expected = []struct{ probe, btf, noBTF string }{
	{"sched", "tp_btf", "tracepoint"},
	{"process", "tp_btf", "tracepoint"},
	{"open", "fexit/do_sys_openat2", "raw_tp/sys_exit"},
	{"sync", "fexit/sys_fsync", "raw_tp/sys_exit"},
	{"socket", "fexit/__sys_connect", "raw_tp/sys_exit"},
	{"fault", "perf/major-faults", "perf/major-faults"},
	{"read", "tracepoint", "tracepoint"},
	{"reclaim", "tracepoint", ""},
	{"cpufreq", "tp_btf/cpu_frequency", "tracepoint/power/cpu_frequency"},
	{"sample", "perf/cpu-clock", "perf/cpu-clock"},
	{"mapping", "perf/mmap2", "perf/mmap2"},
	{"cgroup", "tp_btf", ""},
	{idleProbe, "tp_btf", ""},
}

// idleProbe has too many events for any other recording than one of an idle machine.
const idleProbe = "irq"

// A mode is one recording in the guest's self-test, by the name of its files.
type mode struct {
	name   string
	noBTF  bool
	attach map[string]string // probe to the beginning of its way
}

// allModes: what a user gets, and what he can ask for.
var allModes = []mode{
	{name: "best"},
	{name: "no-btf", noBTF: true},
	{name: "kretprobe", attach: map[string]string{"open": "kretprobe", "sync": "kretprobe", "socket": "kretprobe"}},
	{name: "sys-exit", attach: map[string]string{"open": "tp_btf", "sync": "tp_btf", "socket": "tp_btf"}},
}

// modes are those that the guest's kernel can take and that differ on it.
func modes(g guest) []mode {
	n := 2 // unasked
	switch {
	case g.noBTF:
		n = 1
	case g.every:
		n = len(allModes)
	}
	return slices.DeleteFunc(slices.Clone(allModes[:n]), func(m mode) bool { return m.attach["open"] == cmp.Or(g.functions, "fexit") })
}

// arguments make bootscope record in this mode, or check.
func (m mode) arguments(command string) string {
	arguments := []string{command}
	if m.noBTF {
		arguments = append(arguments, "--no-btf")
	}
	for _, probe := range slices.Sorted(maps.Keys(m.attach)) {
		arguments = append(arguments, "--attach", probe+"="+m.attach[probe])
	}
	return strings.Join(arguments, " ")
}

// via tells how each probe has to be attached in a mode.
func (g guest) via(m mode) map[string]string {
	via := map[string]string{}
	for _, e := range expected {
		way := e.btf
		if m.noBTF || g.noBTF {
			way = e.noBTF
		}
		_, isFunction := strings.CutPrefix(e.btf, "fexit/")
		if asked := m.attach[e.probe]; asked != "" {
			way = firstWay(e.probe, asked)
		} else if differs, ok := g.ways[e.probe]; ok {
			way = differs
		} else if isFunction && way == e.btf && g.functions != "" {
			way = firstWay(e.probe, g.functions)
		}
		via[e.probe] = way
	}
	return via
}

// firstWay is the best way of a probe that begins so.
func firstWay(probe, beginning string) string {
	ways := record.WaysOf(probe)
	i := slices.IndexFunc(ways, func(way string) bool { return strings.HasPrefix(way, beginning) })
	if i < 0 {
		panic(fmt.Sprintf("probe %s has no way %q, but %q", probe, beginning, ways))
	}
	return ways[i]
}

// attached is what a header says of the probes, in the form of guest.via.
func attached(h *tracefile.Header) map[string]string {
	via := map[string]string{}
	for _, p := range h.Probes {
		via[p.Name] = ""
		if p.Status != tracefile.StatusOff {
			via[p.Name] = p.Via
		}
	}
	return via
}

// reasons are the header's words on the probes that are not attached as expected.
func reasons(h *tracefile.Header, expected map[string]string) string {
	var b strings.Builder
	via := attached(h)
	for _, p := range h.Probes {
		if via[p.Name] != expected[p.Name] {
			fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Reason)
		}
	}
	return b.String()
}

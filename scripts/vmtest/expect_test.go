//go:build vmtest

package vmtest

import (
	"fmt"
	"strings"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// expected tells how each probe has to be attached, in each mode of the self-test; "" is off. A worse
// way than this is a failure, and so is a better one: the table is what the documentation claims.
var expected = []struct{ probe, btf, noBTF string }{
	{"sched", "tp_btf", "tracepoint"},
	{"process", "tp_btf", "tracepoint"},
	{"open", "fexit/do_sys_openat2", "raw_tp/sys_exit"},
	{"sync", "fexit/vfs_fsync_range", "raw_tp/sys_exit"},
	{"socket", "fexit/__sys_connect", "raw_tp/sys_exit"},
	{"fault", "perf/major-faults", "perf/major-faults"},
	{"read", "tracepoint", "tracepoint"},
	{"reclaim", "tracepoint", ""},
	{"cpufreq", "tp_btf/cpu_frequency", "tracepoint/power/cpu_frequency"},
	{"sample", "perf/cpu-clock", "perf/cpu-clock"},
	{"mapping", "perf/mmap2", "perf/mmap2"},
	{"cgroup", "tp_btf", ""},
}

// A mode is one recording in the guest's self-test, by the name of its files.
type mode struct {
	name string
	via  map[string]string // by probe
}

func modes(g guest) []mode {
	btf, noBTF := map[string]string{}, map[string]string{}
	for _, e := range expected {
		btf[e.probe], noBTF[e.probe] = e.btf, e.noBTF
		if _, function, ok := strings.Cut(e.btf, "fexit/"); ok && !g.fexit {
			btf[e.probe] = "kretprobe/" + function
		}
	}
	return []mode{{"btf", btf}, {"no-btf", noBTF}}
}

// attached is what a header says of the probes, in the form of mode.via.
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
func (m mode) reasons(h *tracefile.Header) string {
	var b strings.Builder
	via := attached(h)
	for _, p := range h.Probes {
		if via[p.Name] != m.via[p.Name] {
			fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Reason)
		}
	}
	return b.String()
}

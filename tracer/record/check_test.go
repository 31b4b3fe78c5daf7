//go:build linux

package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A kernel's configuration decides which options are named for a probe that isn't attached in its best way.
func TestMissingOptions(t *testing.T) {
	const vendor = "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_PERF_EVENTS=y\nCONFIG_BPF_EVENTS=y\nCONFIG_FTRACE=y\nCONFIG_CGROUPS=y\n" +
		"# CONFIG_DEBUG_INFO_BTF is not set\nCONFIG_FUNCTION_TRACER=y\n"
	p := probe{ways: []way{
		{via: "fexit/f", config: configFexit, status: tracefile.StatusOn},
		{via: "sys_exit", status: tracefile.StatusOn},
	}}
	for _, test := range []struct {
		story       string
		config      kernelConfig
		via, status string
		want        []string
	}{
		{"works in its best way", parseKernelConfig(strings.NewReader(vendor)), "fexit/f", tracefile.StatusOn, nil},
		{"works in another way", parseKernelConfig(strings.NewReader(vendor)), "sys_exit", tracefile.StatusOn,
			[]string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"}},
		{"does not work, and the base is missing", parseKernelConfig(strings.NewReader("CONFIG_BPF_SYSCALL=y\n")), "", tracefile.StatusOff,
			append(slices.Clone(configBase[1:]), configFexit...)},
		{"the configuration is not to be had", nil, "sys_exit", tracefile.StatusOn, configFexit},
		{"works in a lesser way of the same name", nil, "fexit/f", tracefile.StatusLesser, configFexit},
	} {
		if got := test.config.missing(p, tracefile.ProbeStatus{Via: test.via, Status: test.status}); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.story, got, test.want)
		}
	}
}

func TestKernelFragmentNamesEachOptionOnce(t *testing.T) {
	lines := KernelFragment()
	seen := map[string]bool{}
	for _, line := range lines {
		option, on := strings.CutSuffix(line, "=y")
		if !on {
			option = strings.TrimSuffix(strings.TrimPrefix(line, "# "), " is not set")
		}
		if !strings.HasPrefix(option, "CONFIG_") || strings.ContainsAny(option, " =") || seen[option] {
			t.Errorf("line %q; expected an option, once", line)
		}
		seen[option] = true
	}
	for _, option := range []string{"CONFIG_BPF_SYSCALL", "CONFIG_DEBUG_INFO_BTF", "CONFIG_MEMCG", "CONFIG_NET"} {
		if !slices.Contains(lines, option+"=y") {
			t.Errorf("%s is missing from %v", option, lines)
		}
	}
}

//go:build linux

package record

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A Check is what the running kernel lets bootscope record, found out by attaching everything once.
type Check struct {
	Kernel string
	Probes []CheckedProbe
	// Hints are about the machine rather than about one probe: what to switch on, and how.
	Hints []string
}

// CheckedProbe is what becomes of a probe.
type CheckedProbe struct {
	tracefile.ProbeStatus
	// Config lists kernel options that are missing for it to work, or to work in its best way.
	Config []string
}

// CheckKernel tries every probe and takes it off again.
func CheckKernel(options Options) (*Check, error) {
	if err := checkPrivileges(); err != nil {
		return nil, err
	}
	locked := liftMemlock()
	kernel := readKernel(options)
	if kernel.badFile != nil {
		return nil, kernel.badFile
	}
	l := newLoader(kernel, options)
	defer l.close()
	config := readKernelConfig(kernel.release)
	c := &Check{Kernel: kernel.release, Hints: hints(kernel, config)}
	if locked != nil {
		c.Hints = append(c.Hints, locked.Error())
	}
	for _, p := range probes {
		programs, status := attachProbe(l, p)
		closePrograms(programs)
		c.Probes = append(c.Probes, CheckedProbe{status, config.missing(p, status)})
	}
	if _, err := system.FindCgroups(); err != nil {
		c.Hints = append(c.Hints, "units are not known: "+err.Error())
	}
	return c, nil
}

// prerequisites are what the options of the ways depend on or follow from. A kernel's configuration drops without
// a word what lacks its own.
var prerequisites = []string{
	"CONFIG_MODULES",        // of CONFIG_BPF_JIT, before 6.10
	"CONFIG_UPROBE_EVENTS",  // CONFIG_BPF_EVENTS follows from it, or from CONFIG_KPROBE_EVENTS
	"CONFIG_DYNAMIC_FTRACE", // CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS follows from it
	"CONFIG_DEBUG_KERNEL",   // of CONFIG_DEBUG_INFO
	"CONFIG_DEBUG_INFO",     // of CONFIG_DEBUG_INFO_BTF; from 5.18 on it follows from the next
	"CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT",
}

// KernelFragment is what a kernel's configuration needs for every probe to work in its best way, line by line.
func KernelFragment() []string {
	options := append(slices.Clone(configBase), prerequisites...)
	for _, p := range probes {
		options = append(options, p.ways[0].config...)
	}
	slices.Sort(options)
	var lines []string
	for _, option := range slices.Compact(options) {
		lines = append(lines, option+"=y")
	}
	// It is on in many vendors' configurations, and keeps CONFIG_DEBUG_INFO_BTF off.
	return append(lines, "# CONFIG_DEBUG_INFO_REDUCED is not set")
}

// kernelConfig is the running kernel's configuration: option to value. It is nil if no file has it.
type kernelConfig map[string]string

func readKernelConfig(release string) kernelConfig {
	if f, err := os.Open("/proc/config.gz"); err == nil {
		defer f.Close()
		if z, err := gzip.NewReader(f); err == nil {
			return parseKernelConfig(z)
		}
	}
	if f, err := os.Open("/boot/config-" + release); err == nil {
		defer f.Close()
		return parseKernelConfig(f)
	}
	return nil
}

func parseKernelConfig(r io.Reader) kernelConfig {
	config := kernelConfig{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if option, value, ok := strings.Cut(lines.Text(), "="); ok && strings.HasPrefix(option, "CONFIG_") {
			config[option] = value
		}
	}
	return config
}

// missing lists the options that a probe lacks for its best way, given what became of it. Without the kernel's
// configuration it lists all that the best way needs.
func (c kernelConfig) missing(p probe, is tracefile.ProbeStatus) []string {
	missing := []string{}
	best := p.ways[0]
	if is.Via == best.via && is.Status == best.status {
		return missing
	}
	options := best.config
	if c != nil { // the base is there if anything works, so it is only named where it is known to be missing
		options = append(slices.Clone(configBase), options...)
	}
	for _, option := range options {
		if c[option] == "" {
			missing = append(missing, option)
		}
	}
	return missing
}

// hints looks at what else is known to stand in the way.
func hints(kernel kernelFeatures, config kernelConfig) []string {
	var found []string
	if config == nil {
		found = append(found, fmt.Sprintf("the kernel's configuration is not to be had (/proc/config.gz, CONFIG_IKCONFIG_PROC; "+
			"or /boot/config-%s), so the options named are those that the best way needs", kernel.release))
	}
	if mode := lockdown(); mode == "confidentiality" {
		found = append(found, "the kernel is locked down (confidentiality): BPF programs may not read its memory. "+
			"Boot without lockdown=confidentiality, or with lockdown=integrity")
	}
	if kernel.noTypes != nil {
		found = append(found, kernel.noTypes.Error())
	}
	if !kernel.rtRingOK {
		found = append(found, "the ring buffer's lock sleeps, as PREEMPT_RT has it before Linux 6.12 or 6.1.115 (commit 8b62645b09f8): "+
			"what would wait for it where the kernel can't sleep is off, and the recorder polls five times a second")
	}
	if _, err := tracefsDir(); err != nil {
		found = append(found, err.Error())
	}
	return found
}

// lockdown returns the kernel's lockdown mode, "" without.
func lockdown() string {
	text, _ := os.ReadFile("/sys/kernel/security/lockdown")
	_, rest, _ := strings.Cut(string(text), "[")
	mode, _, _ := strings.Cut(rest, "]")
	return mode
}

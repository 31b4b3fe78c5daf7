//go:build linux

// Package system reads what BPF can't see: /proc at the start and the end, clocks, frequencies,
// the cgroup tree, the machine's name. It turns them into events and header fields, and must not
// know how they are recorded or what they mean.
package system

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// DescribeMachine fills in what the header says of the machine.
func DescribeMachine(h *tracefile.Header) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Errorf("uname: %w", err)
	}
	h.Kernel, h.Arch = unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:])
	h.PageSize = os.Getpagesize()
	h.TickHz = userHz
	h.BootID = BootID()
	h.Machine = machineModel()
	var err error
	if h.Online, err = ReadCPUs("/sys/devices/system/cpu/online"); err != nil {
		return err
	}
	possible, err := ReadCPUs("/sys/devices/system/cpu/possible")
	if err != nil {
		return err
	}
	h.CPUs = len(possible)
	h.CPUFreq, h.Sensors = FrequencyPolicies(), Sensors()
	return nil
}

// machineModel asks the device tree, then DMI.
func machineModel() string {
	for _, file := range []string{"/proc/device-tree/model", "/sys/class/dmi/id/product_name"} {
		if model := strings.Trim(readLine(file), "\x00 "); model != "" {
			return model
		}
	}
	return ""
}

// ReadCPUs reads a list of CPUs such as "0-3,6" from a file of sysfs.
func ReadCPUs(file string) ([]int, error) {
	text := readLine(file)
	var cpus []int
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || b < a || b > 1<<16 {
			return nil, fmt.Errorf("%s: %q is not a list of CPUs", file, text)
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// FrequencyPolicies lists cpufreq's policies as they are now.
func FrequencyPolicies() []tracefile.FreqPolicy { return frequencyPolicies(cpufreqDir) }

const cpufreqDir = "/sys/devices/system/cpu/cpufreq"

// frequencyPolicies lists cpufreq's policies; a machine without cpufreq has none.
func frequencyPolicies(dir string) []tracefile.FreqPolicy {
	found, _ := filepath.Glob(dir + "/policy*")
	sort.Slice(found, func(i, j int) bool {
		return len(found[i]) < len(found[j]) || len(found[i]) == len(found[j]) && found[i] < found[j]
	})
	var policies []tracefile.FreqPolicy
	for _, p := range found {
		policy := tracefile.FreqPolicy{Name: filepath.Base(p), Governor: readLine(p + "/scaling_governor")}
		for _, f := range strings.Fields(readLine(p + "/affected_cpus")) {
			if cpu, err := strconv.Atoi(f); err == nil {
				policy.CPUs = append(policy.CPUs, cpu)
			}
		}
		khz, _ := strconv.ParseUint(readLine(p+"/scaling_cur_freq"), 10, 32)
		policy.CurrentKHz = uint32(khz)
		if n, err := strconv.ParseUint(readLine(p+"/stats/total_trans"), 10, 64); err == nil {
			policy.Transitions = &n
		}
		policies = append(policies, policy)
	}
	return policies
}

// readLine returns a file's first line, or "" if it can't be read: absent facts are left out.
func readLine(file string) string {
	line, _, _ := strings.Cut(readFile(file), "\n")
	return line
}

// readFile returns a file's text, or "" if it can't be read.
func readFile(file string) string {
	b, err := readWhole(file)
	if err != nil {
		return ""
	}
	return string(b)
}

// BootID is the random number that names this boot.
func BootID() string { return readLine("/proc/sys/kernel/random/boot_id") }

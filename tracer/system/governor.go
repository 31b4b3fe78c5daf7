//go:build linux

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// A Setting is a file of sysfs and what was in it.
type Setting struct {
	File  string `json:"file"`
	Value string `json:"value"`
}

// GovernorSettings reads all that a change of governors would lose, in the order in which it is to be
// restored: the governors, then what was set of them (the kernel forgets that when the last policy leaves
// a governor), then the frequency that was set by hand.
func GovernorSettings() ([]Setting, error) { return governorSettings(cpufreqDir) }

func governorSettings(dir string) ([]Setting, error) {
	policies, _ := filepath.Glob(dir + "/policy*")
	sort.Strings(policies)
	if len(policies) == 0 {
		return nil, fmt.Errorf("this machine has no cpufreq policy in %s: nothing sets the CPU's frequency", dir)
	}
	var governors, tunables, speeds []Setting
	for _, p := range policies {
		governor := readLine(p + "/scaling_governor")
		governors = append(governors, Setting{p + "/scaling_governor", governor})
		tunables = append(tunables, settingsIn(p+"/"+governor)...)
		if governor == "userspace" {
			speeds = append(speeds, Setting{p + "/scaling_setspeed", readLine(p + "/scaling_setspeed")})
		}
		if common := settingsIn(dir + "/" + governor); !slices.ContainsFunc(tunables, func(s Setting) bool {
			return slices.Contains(common, s)
		}) {
			tunables = append(tunables, common...)
		}
	}
	return append(append(governors, tunables...), speeds...), nil
}

// settingsIn reads the writable files of a directory.
func settingsIn(dir string) (list []Setting) {
	entries, _ := os.ReadDir(dir) // sorted; a governor without settings has no directory
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o200 != 0 {
			file := filepath.Join(dir, e.Name())
			list = append(list, Setting{file, readLine(file)})
		}
	}
	return list
}

// RestoreSettings writes what differs from what was read. It goes on after an error and returns the first.
func RestoreSettings(list []Setting) (first error) {
	for _, s := range list {
		if readLine(s.File) == s.Value {
			continue
		}
		if err := os.WriteFile(s.File, []byte(s.Value), 0o644); err != nil && first == nil {
			first = fmt.Errorf("restoring %s to %q: %w", s.File, s.Value, err)
		}
	}
	return first
}

// SetGovernor gives all policies one governor.
func SetGovernor(name string) error { return setGovernor(cpufreqDir, name) }

func setGovernor(dir, name string) error {
	policies, _ := filepath.Glob(dir + "/policy*")
	for _, p := range policies {
		if err := os.WriteFile(p+"/scaling_governor", []byte(name), 0o644); err != nil {
			return fmt.Errorf("setting governor %s: %w (%s has %s)", name, err, filepath.Base(p),
				strings.Join(strings.Fields(readLine(p+"/scaling_available_governors")), ", "))
		}
	}
	return nil
}

// MissingGovernor returns the first of the governors that not all policies have, and what they have.
func MissingGovernor(names []string) (missing string, available []string) {
	return missingGovernor(cpufreqDir, names)
}

func missingGovernor(dir string, names []string) (string, []string) {
	policies, _ := filepath.Glob(dir + "/policy*")
	for _, p := range policies {
		available := strings.Fields(readLine(p + "/scaling_available_governors"))
		for _, name := range names {
			if !slices.Contains(available, name) {
				return name, available
			}
		}
	}
	return "", nil
}

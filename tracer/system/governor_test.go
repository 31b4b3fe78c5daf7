//go:build linux

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cpufreqTree makes two policies that run a governor, with common settings of it or with some for each policy.
func cpufreqTree(t *testing.T, governor string, common bool) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{}
	for _, p := range []string{"policy0", "policy4"} {
		files[p+"/scaling_governor"] = governor + "\n"
		files[p+"/scaling_available_governors"] = "performance schedutil userspace \n"
		files[p+"/scaling_setspeed"] = "<unsupported>\n"
		if governor == "userspace" {
			files[p+"/scaling_setspeed"] = "1000000\n"
		}
		if !common {
			files[p+"/schedutil/rate_limit_us"] = "2000\n"
		}
	}
	if common {
		files["schedutil/rate_limit_us"] = "2000\n"
	}
	writeTree(t, dir, files)
	return dir
}

func TestGovernorSettings(t *testing.T) {
	for _, c := range []struct {
		name, governor string
		common         bool
		want           string
	}{
		{"settings of each policy", "schedutil", false, "policy0/scaling_governor=schedutil policy4/scaling_governor=schedutil " +
			"policy0/schedutil/rate_limit_us=2000 policy4/schedutil/rate_limit_us=2000"},
		{"common settings, once", "schedutil", true, "policy0/scaling_governor=schedutil policy4/scaling_governor=schedutil " +
			"schedutil/rate_limit_us=2000"},
		{"a governor without settings", "performance", true, "policy0/scaling_governor=performance policy4/scaling_governor=performance"},
		{"the frequency that was set by hand", "userspace", true, "policy0/scaling_governor=userspace policy4/scaling_governor=userspace " +
			"policy0/scaling_setspeed=1000000 policy4/scaling_setspeed=1000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := cpufreqTree(t, c.governor, c.common)
			settings, err := governorSettings(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range settings {
				got = append(got, strings.TrimPrefix(s.File, dir+"/")+"="+s.Value)
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
	if _, err := governorSettings(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no cpufreq policy") {
		t.Errorf("without cpufreq: %v", err)
	}
}

func TestRestoreSettings(t *testing.T) {
	dir := cpufreqTree(t, "schedutil", true)
	settings, err := governorSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := setGovernor(dir, "performance"); err != nil {
		t.Fatal(err)
	}
	if got := readLine(dir + "/policy4/scaling_governor"); got != "performance" {
		t.Fatalf("policy4 has governor %s", got)
	}
	os.WriteFile(dir+"/schedutil/rate_limit_us", []byte("1000"), 0o644) // as the kernel does when it comes back
	// One that can't be restored doesn't keep the others from it.
	settings = append([]Setting{{filepath.Join(dir, "gone/file"), "x"}}, settings...)
	if err := RestoreSettings(settings); err == nil || !strings.Contains(err.Error(), "gone/file") {
		t.Errorf("restoring what is gone: %v", err)
	}
	got := fmt.Sprint(readLine(dir+"/policy0/scaling_governor"), readLine(dir+"/policy4/scaling_governor"),
		readLine(dir+"/schedutil/rate_limit_us"))
	if got != "schedutilschedutil2000" {
		t.Errorf("restored to %s", got)
	}
}

func TestMissingGovernor(t *testing.T) {
	dir := cpufreqTree(t, "schedutil", true)
	if missing, _ := missingGovernor(dir, []string{"performance", "schedutil"}); missing != "" {
		t.Errorf("%q is missing", missing)
	}
	missing, available := missingGovernor(dir, []string{"performance", "fast"})
	if missing != "fast" || len(available) != 3 {
		t.Errorf("%q is missing of %v", missing, available)
	}
}

//go:build linux

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

func TestReadCPUs(t *testing.T) {
	for text, want := range map[string][]int{
		"0":          {0},
		"0\n":        {0},
		"0-3":        {0, 1, 2, 3},
		"0-1,4,6-7":  {0, 1, 4, 6, 7},
		"0,2\nmore":  {0, 2},
		"":           nil,
		"\n":         nil,
		"x":          nil,
		"3-1":        nil,
		"0-":         nil,
		"-1":         nil,
		"0,,1":       nil,
		"0-99999999": nil,
		"0 - 1":      nil,
	} {
		file := filepath.Join(t.TempDir(), "cpus")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCPUs(file)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	if _, err := ReadCPUs("/no/such/file"); err == nil {
		t.Error("a list of CPUs that isn't there was read")
	}
}

func TestFrequencyPolicies(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"policy10", "policy2", "policy0"} {
		writeTree(t, dir, map[string]string{p + "/affected_cpus": p[6:] + " 1\n", p + "/scaling_governor": "schedutil\n", p + "/scaling_cur_freq": "1800000\n"})
	}
	writeTree(t, dir, map[string]string{"policy2/stats/total_trans": "370\n", "boost": "1\n"})
	var names []string
	for _, p := range frequencyPolicies(dir) {
		names = append(names, p.Name)
		if len(p.CPUs) != 2 || fmt.Sprint(p.CPUs[0]) != p.Name[6:] || p.Governor != "schedutil" || p.CurrentKHz != 1800000 {
			t.Errorf("%+v", p)
		}
		if known := p.Transitions != nil; known != (p.Name == "policy2") || known && *p.Transitions != 370 {
			t.Errorf("%s has transitions %v", p.Name, p.Transitions)
		}
	}
	if want := []string{"policy0", "policy2", "policy10"}; !slices.Equal(names, want) {
		t.Errorf("the policies are %v, want %v", names, want)
	}
	if p := frequencyPolicies("/no/such/directory"); p != nil {
		t.Errorf("a machine without cpufreq has %v", p)
	}
}

// TestDescribeMachine describes the machine that the test runs on.
func TestDescribeMachine(t *testing.T) {
	h := &tracefile.Header{}
	if err := DescribeMachine(h); err != nil {
		t.Fatal(err)
	}
	if h.Kernel == "" || h.Arch == "" || len(h.BootID) != 36 || h.PageSize != os.Getpagesize() || h.TickHz != 100 ||
		len(h.Online) < runtime.NumCPU() || h.CPUs < len(h.Online) {
		t.Errorf("%+v", h)
	}
}

//go:build linux && kerneltest

package record

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// startOnce attaches all and takes it off, and tells how, and whether the kernel's types had to be parsed.
func startOnce(t *testing.T, options Options) (statuses []tracefile.ProbeStatus, changed bool) {
	t.Helper()
	options.SampleHz, options.BufferBytes, options.Notice = DefaultSampleHz, DefaultBufferBytes, t.Logf
	r, err := attach(options)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	return r.statuses, r.loader.kernel.plan.changed
}

// TestSecondStart: what was found out at the first start serves the second, which attaches the same; and
// nothing that may be in the file's place does harm.
func TestSecondStart(t *testing.T) {
	if _, err := newPlanKey("test"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	options := Options{Tool: "test", Cache: []string{dir}}
	want, changed := startOnce(t, options)
	if !changed {
		t.Error("the first start found nothing out")
	}
	same := func(about string, options Options, wantChanged bool) {
		got, changed := startOnce(t, options)
		if !slices.Equal(got, want) {
			t.Errorf("%s, it attached as\n%s\nwant\n%s", about, describeStatuses(got), describeStatuses(want))
		}
		if changed != wantChanged {
			t.Errorf("%s, it found something out: %v, want %v", about, changed, wantChanged)
		}
	}
	same("second start", options, false)
	file := filepath.Join(dir, planFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for about, content := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)/2], "rubbish": []byte("rubbish\n")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		same("file "+about, options, true)
		same("after file "+about, options, false)
	}
	same("another version", Options{Tool: "test 2", Cache: []string{dir}}, true)
	same("no place for a file", Options{Tool: "test", Cache: []string{"/proc/no/such"}}, true)
	same("types from a file", Options{Tool: "test", BTF: ownTypes, Cache: []string{dir}}, true)
}

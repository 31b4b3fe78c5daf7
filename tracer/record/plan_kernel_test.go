//go:build linux && kerneltest

package record

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

// TestTypesFromFile records where the kernel's types are hidden, without and with a file that has them.
func TestTypesFromFile(t *testing.T) {
	types, err := os.ReadFile(ownTypes)
	if err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "types")
	if err := os.WriteFile(file, types, 0o600); err != nil {
		t.Fatal(err)
	}
	probe := func(file string) (s tracefile.ProbeStatus, err error) {
		r, err := attach(Options{SampleHz: DefaultSampleHz, BufferBytes: DefaultBufferBytes, BTF: file, Notice: t.Logf})
		if err != nil {
			return s, err
		}
		defer r.close()
		return r.statuses[0], nil
	}
	var without, with tracefile.ProbeStatus
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
		err := errors.Join(unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_FS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("none", filepath.Dir(ownTypes), "tmpfs", 0, ""))
		if err == nil {
			without, err = probe("")
		}
		if err == nil {
			with, err = probe(file)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if without.Status != tracefile.StatusLesser || !strings.Contains(without.Reason, "--btf FILE") {
		t.Errorf("without types: %+v; want it lesser, and what would help", without)
	}
	if with.Status != tracefile.StatusOn || with.Via != "tp_btf" {
		t.Errorf("with types from a file: %+v", with)
	}
}

// TestWrongTypesFile: a recording doesn't begin with types that are no help.
func TestWrongTypesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "types")
	if err := os.WriteFile(file, []byte("no BTF"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := Options{BTF: file, SampleHz: DefaultSampleHz, BufferBytes: DefaultBufferBytes, Notice: t.Logf,
		Output: filepath.Join(t.TempDir(), "out.bst"), Command: []string{"true"}}
	_, recordErr := Record(options)
	_, checkErr := CheckKernel(options)
	for _, err := range []error{recordErr, checkErr, FillCache(options, t.TempDir())} {
		if err == nil || !strings.Contains(err.Error(), file+" has no BTF") {
			t.Errorf("%v; want that %s has no BTF", err, file)
		}
	}
	if left, _ := filepath.Glob(options.Output + "*"); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

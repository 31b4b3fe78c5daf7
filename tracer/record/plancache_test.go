//go:build linux

package record

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var testKey = planKey{Tool: "bootscope 1", Objects: 2, Kernel: "abcd"}

// testPlan is a plan of the object that needs no kernel's types.
func testPlan(t testing.TB) *plan {
	t.Helper()
	p := &plan{Facts: kernelFacts{Loop: true, SwitchState: 3}}
	for _, name := range []string{"sys_exit", "page_added"} {
		if planned, err := p.program(plainObject, name); err != nil || planned.Problem != "" {
			t.Fatalf("%s: %v, %+v", name, err, planned)
		}
	}
	return p
}

func TestPlanIsKept(t *testing.T) {
	p := testPlan(t)
	dir := filepath.Join(t.TempDir(), "made", "by", "keep")
	if err := p.keep(testKey, dir); err != nil {
		t.Fatal(err)
	}
	got := readPlan(testKey, t.TempDir(), dir)
	if got == nil || got.changed {
		t.Fatalf("got %+v", got)
	}
	if got.Facts != p.Facts || !reflect.DeepEqual(got.Objects, p.Objects) {
		t.Error("the plan that was read is not the one that was kept")
	}
	if _, err := got.program(plainObject, "sys_exit"); err != nil || got.changed || got.specs[plainObject] != nil {
		t.Errorf("%v, changed: %v; the object was parsed: %v", err, got.changed, got.specs[plainObject] != nil)
	}
	if _, err := got.program(plainObject, "fault"); err != nil || !got.changed {
		t.Errorf("%v; a program that was not in the plan must be kept the next time", err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("the directory has %v", names)
	}
}

// TestPlanOfAnother: a plan that is not exactly of this kernel, these objects and this version is none.
func TestPlanOfAnother(t *testing.T) {
	dir := t.TempDir()
	if err := testPlan(t).keep(testKey, dir); err != nil {
		t.Fatal(err)
	}
	for _, key := range []planKey{{"bootscope 2", 2, "abcd"}, {"bootscope 1", 3, "abcd"}, {"bootscope 1", 2, "abce"}, {}} {
		if readPlan(key, dir) != nil {
			t.Errorf("the plan of %+v was taken for that of %+v", testKey, key)
		}
	}
}

func TestDamagedPlan(t *testing.T) {
	dir := t.TempDir()
	if err := testPlan(t).keep(testKey, dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		t.Fatal(err)
	}
	if parsePlan(text, testKey) == nil {
		t.Fatal("a whole plan was refused")
	}
	for n := 0; n < len(text); n += 1 + n/50 {
		if parsePlan(text[:n], testKey) != nil {
			t.Errorf("cut at %d of %d bytes, it was taken", n, len(text))
		}
		damaged := bytes.Clone(text)
		damaged[n] ^= 4
		if parsePlan(damaged, testKey) != nil {
			t.Errorf("with a bit flipped at %d, it was taken", n)
		}
	}
}

func TestPlanCannotBeKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := kernelFeatures{plan: testPlan(t), planKey: &testKey}
	k.keepPlan([]string{dir}) // nothing to be told
	if !k.plan.changed || readPlan(testKey, dir) != nil {
		t.Error("a plan was kept in what is no directory")
	}
}

func FuzzParsePlan(f *testing.F) {
	dir := f.TempDir()
	if err := testPlan(f).keep(testKey, dir); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("bootscope start 1 00000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) { parsePlan(text, testKey) })
}

func TestBuildID(t *testing.T) {
	note := func(name string, kind uint32, content string) []byte {
		b := binary.NativeEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.NativeEndian.AppendUint32(b, uint32(len(content)))
		b = binary.NativeEndian.AppendUint32(b, kind)
		pad := func(s string) string { return s + "\x00\x00\x00"[:(4-len(s)%4)%4] }
		return append(append(b, pad(name)...), pad(content)...)
	}
	other := note("Xen\x00", 6, "linux")
	id := note("GNU\x00", 3, "0123456789abcdefghij")
	for _, tt := range []struct {
		about string
		notes []byte
		want  string
	}{
		{"alone", id, "0123456789abcdefghij"},
		{"behind another", append(bytes.Clone(other), id...), "0123456789abcdefghij"},
		{"another of GNU's", append(note("GNU\x00", 5, "1234567"), id...), "0123456789abcdefghij"},
		{"none", other, ""},
		{"nothing", nil, ""},
		{"cut", id[:len(id)-1], ""},
		{"a length that is too large", append([]byte{255, 255, 255, 255}, id[4:]...), ""},
	} {
		if got := string(buildID(tt.notes)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.about, got, tt.want)
		}
	}
}

//go:build linux

package bootunit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// record makes a recording of some size, last written at a time.
func record(t *testing.T, s *Store, at time.Time, size int64) string {
	t.Helper()
	output, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := output.Truncate(size); err != nil {
		t.Fatal(err)
	}
	path, err := s.Save(output, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStoreKeepsTheNewest(t *testing.T) {
	tests := []struct {
		name  string
		sizes []int64 // of boots, one after the other
		want  []int   // which are left
	}{
		{"few and small", []int64{1, 2, 3}, []int{0, 1, 2}},
		{"more than five", []int64{1, 1, 1, 1, 1, 1, 1}, []int{2, 3, 4, 5, 6}},
		{"more than 64 MB", []int64{1, 30 << 20, 30 << 20, 30 << 20}, []int{2, 3}},
		{"the newest alone is too large", []int64{1, 1, 70 << 20}, []int{2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b")
			var last string
			for i, size := range tt.sizes {
				s := &Store{Dir: dir, BootID: fmt.Sprintf("%08x-rest", i)}
				last = record(t, s, time.Date(2024, 1, 2+i, 3, 4, 5, 0, time.UTC), size)
			}
			var got []string
			for _, f := range (&Store{Dir: dir}).files(recordingName) {
				got = append(got, f.name)
			}
			var want []string
			for _, i := range tt.want {
				want = append(want, fmt.Sprintf("202401%02d-030405-%08x.bst", 2+i, i))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("left: %v, want %v", got, want)
			}
			if latest, info := (&Store{Dir: dir}).Latest(); latest != last || info == nil {
				t.Errorf("latest.bst leads to %s, want %s", latest, last)
			}
		})
	}
}

// TestStoreWithoutClock records while it is 1970: the newest stays although its date is the oldest.
func TestStoreWithoutClock(t *testing.T) {
	dir := t.TempDir()
	for i := range keepFiles {
		record(t, &Store{Dir: dir, BootID: fmt.Sprintf("%08x", i)}, time.Now(), 1)
	}
	kept := record(t, &Store{Dir: dir, BootID: "ffffffff"}, time.Unix(5, 0), 1)
	if !exists(kept) || len((&Store{Dir: dir}).files(recordingName)) != keepFiles {
		t.Errorf("%s is gone, or others are not", kept)
	}
}

func TestStoreOnce(t *testing.T) {
	dir := t.TempDir()
	record(t, &Store{Dir: dir, BootID: "1", Once: "0000000000000001"}, time.Now(), 1)
	if _, err := (&Store{Dir: dir, BootID: "2", Once: "0000000000000001"}).Open(); !errors.Is(err, ErrSpent) {
		t.Errorf("the second boot: %v, want %v", err, ErrSpent)
	}
	record(t, &Store{Dir: dir, BootID: "3", Once: "0000000000000002"}, time.Now(), 1)
	if marks := (&Store{Dir: dir}).files(spentName); len(marks) != 1 || marks[0].name != ".recorded-0000000000000002" {
		t.Errorf("marks: %v, want that of the second installation only", marks)
	}
}

// TestStoreAdoptsPartials finds what a power cut left.
func TestStoreAdoptsPartials(t *testing.T) {
	dir := t.TempDir()
	cut := filepath.Join(dir, "0000000a.bst.partial-12345678")
	if err := os.WriteFile(cut, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(cut, at, at); err != nil {
		t.Fatal(err)
	}
	record(t, &Store{Dir: dir, BootID: "b"}, time.Now(), 1)
	if want := filepath.Join(dir, "20240102-030405-0000000a-cut.bst"); exists(cut) || !exists(want) {
		t.Errorf("%s did not become %s", cut, want)
	}
}

func TestMountUnit(t *testing.T) {
	for path, want := range map[string]string{
		"/var": "var.mount", "/var/lib/bootscope": "var-lib-bootscope.mount",
		"/mnt/my-disk": `mnt-my\x2ddisk.mount`, "/a b": `a\x20b.mount`, "/.x": `\x2ex.mount`,
	} {
		if got := mountUnit(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestMountPoints(t *testing.T) {
	points := mountPoints("22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:5 / /my\\040disk rw - tmpfs tmpfs rw\n")
	if !points["/"] || !points["/my disk"] || len(points) != 2 {
		t.Errorf("got %v", points)
	}
}

func TestMissingMount(t *testing.T) {
	units := t.TempDir()
	defer func(saved []string) { unitDirs = saved }(unitDirs)
	unitDirs = []string{units}
	if err := os.MkdirAll(units+"/local-fs.target.requires", 0o755); err != nil {
		t.Fatal(err)
	}
	if got := missingMount("/nowhere/lib/bootscope"); got != "" {
		t.Errorf("no mount belongs to the boot, but %s is waited for", got)
	}
	for _, name := range []string{"/nowhere-lib.mount", "/local-fs.target.requires/nowhere.mount"} {
		if err := os.WriteFile(units+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := missingMount("/nowhere/lib/bootscope"); got != "/nowhere" {
		t.Errorf("waits for %q, want /nowhere", got)
	}
}

package tracefile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func create(t *testing.T, path string, force bool, text string) error {
	t.Helper()
	o, err := Create(path, force)
	if err != nil {
		return err
	}
	defer o.Abort()
	if _, err := o.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o.Commit()
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// only checks that a directory has these names and no temporary ones.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(names) {
		t.Errorf("in the directory: %v, want %v", list, names)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.bst")
	if err := create(t, path, false, "one"); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	err := create(t, path, false, "two")
	if err == nil || !strings.Contains(err.Error(), "exists") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("an existing file: %v", err)
	}
	if got := content(t, path); got != "one" {
		t.Errorf("content %q", got)
	}
	if err := create(t, path, true, "three"); err != nil || content(t, path) != "three" {
		t.Errorf("force: %v, content %q", err, content(t, path))
	}
	only(t, dir, "t.bst")
}

func TestCreateAbort(t *testing.T) {
	dir := t.TempDir()
	o, err := Create(filepath.Join(dir, "t.bst"), false)
	if err != nil {
		t.Fatal(err)
	}
	o.Abort()
	o.Abort()
	only(t, dir)
}

// A file that comes into being during the recording is not lost, and neither is the recording.
func TestCreateRace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.bst")
	o, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	o.Write([]byte("new"))
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = o.Commit()
	o.Abort()
	if err == nil || !strings.Contains(err.Error(), "what was written is in "+path+".partial-") || content(t, path) != "old" {
		t.Errorf("got %v", err)
	}
	if content(t, o.Name()) != "new" {
		t.Error("the recording is lost")
	}
}

func TestCreateNeverFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "t.bst")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Skip(err)
	}
	if err := create(t, path, false, "x"); err == nil {
		t.Error("a link to a file counts as nothing")
	}
	if err := create(t, path, true, "trace"); err != nil {
		t.Fatal(err)
	}
	if content(t, victim) != "precious" || content(t, path) != "trace" {
		t.Errorf("victim %q, trace %q", content(t, victim), content(t, path))
	}
	if info, _ := os.Lstat(path); !info.Mode().IsRegular() {
		t.Errorf("still a link: %v", info.Mode())
	}
	// One that leads nowhere, too.
	os.Remove(path)
	os.Symlink(filepath.Join(dir, "planted"), path)
	if err := create(t, path, false, "x"); err == nil {
		t.Error("a dangling link counts as nothing")
	}
	if err := create(t, path, true, "trace"); err != nil {
		t.Error(err)
	}
	only(t, dir, "victim", "t.bst")
}

func TestCreateKeepsDevices(t *testing.T) {
	dir := t.TempDir()
	if runtime.GOOS == "windows" {
		t.Skip("has no /dev")
	}
	link := filepath.Join(dir, "null")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, "/dev/null", link} {
		if err := create(t, path, true, "x"); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := Create(filepath.Join(dir, "none", "t.bst"), false)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
}

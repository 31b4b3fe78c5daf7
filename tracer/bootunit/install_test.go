//go:build linux

package bootunit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree lists what is below root: directories, files with their mode, links with their target.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := strings.TrimPrefix(path, root)
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			name += " " + info.Mode().String()
		}
		if to, err := os.Readlink(path); err == nil {
			name += " -> " + to
		}
		list = append(list, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// imageRoot is a root file system with something in it, and a program to install.
func imageRoot(t *testing.T) (System, string) {
	t.Helper()
	root, program := t.TempDir(), filepath.Join(t.TempDir(), "program")
	for _, dir := range []string{"etc/systemd/system", "etc/default", "var/cache", "var/lib", "usr/bin", "usr/lib"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{program, filepath.Join(root, "etc/default/other")} {
		if err := os.WriteFile(name, []byte("program"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return System{Root: root}, program
}

func TestInstallAndUninstall(t *testing.T) {
	s, program := imageRoot(t)
	before := tree(t, s.Root)
	install := Install{Binary: program, Dir: "/var/lib/boot scope", Init: true, Options: []string{"--until=x"}, Buffers: 8 << 20}
	for range 2 { // the second time replaces
		if err := s.Install(install); err != nil {
			t.Fatal(err)
		}
	}
	after := tree(t, s.Root)
	for _, want := range []string{
		"/etc/default/bootscope -rw-r--r--",
		"/etc/systemd/system/bootscope.service -rw-r--r--",
		"/etc/systemd/system/sysinit.target.wants/bootscope.service -> ../bootscope.service",
		"/usr/bin/bootscope-init -> ../lib/bootscope/bootscope",
		"/usr/lib/bootscope/bootscope -rwxr-xr-x",
		"/var/lib/boot scope",
	} {
		if !slices.Contains(after, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if got := len(after) - len(before); got != 8 { // with two directories
		t.Errorf("%d new names instead of 8:\n%s", got, strings.Join(after, "\n"))
	}
	if !s.Installed() || !s.Armed() || s.RecordingsDir() != "/var/lib/boot scope" {
		t.Errorf("installed %v, armed %v, recordings in %q", s.Installed(), s.Armed(), s.RecordingsDir())
	}
	store := Store{Dir: s.path(install.Dir), BootID: "01234567-89ab", Once: "0123456789abcdef"}
	record(t, &store, time.Now(), 10)
	for _, name := range keptFiles {
		if err := errors.Join(os.MkdirAll(filepath.Dir(s.path(name)), 0o755), os.WriteFile(s.path(name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Uninstall(false); err != nil {
		t.Fatal(err)
	}
	if left := tree(t, s.Root); !slices.Equal(left, before) {
		t.Errorf("left behind:\n%s\nwas there before:\n%s", strings.Join(left, "\n"), strings.Join(before, "\n"))
	}
}

func TestUninstallKeepsWhatIsNotOurs(t *testing.T) {
	s, program := imageRoot(t)
	if err := s.Install(Install{Binary: program, Dir: DefaultDir}); err != nil {
		t.Fatal(err)
	}
	foreign := s.path(DefaultDir + "/notes.txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: s.path(DefaultDir), BootID: "01234567"}
	kept := record(t, &store, time.Now(), 10)
	if _, err := s.Uninstall(true); err != nil || !exists(foreign) || !exists(kept) {
		t.Errorf("with --keep-recordings: %v; %v %v", err, exists(foreign), exists(kept))
	}
	if _, err := s.Uninstall(false); err != nil || !exists(foreign) || exists(kept) {
		t.Errorf("without: %v; %v %v", err, exists(foreign), exists(kept))
	}
}

func TestDisarm(t *testing.T) {
	s, program := imageRoot(t)
	if err := s.Install(Install{Binary: program, Dir: DefaultDir}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Disarm(); err != nil || s.Armed() {
			t.Errorf("disarm: %v, armed %v", err, s.Armed())
		}
	}
}

func TestInstallErrors(t *testing.T) {
	s, program := imageRoot(t)
	if err := s.Install(Install{Binary: program, Dir: "relative"}); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative directory: %v", err)
	}
	if err := s.Install(Install{Binary: program + "x", Dir: DefaultDir}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	if s.Armed() {
		t.Error("half an installation is armed")
	}
}

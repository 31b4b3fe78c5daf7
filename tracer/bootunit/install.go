//go:build linux

package bootunit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Install says what to install.
type Install struct {
	Binary    string        // the program to copy
	Dir       string        // where recordings go
	EveryBoot bool          // stay armed; otherwise only the next boot is recorded
	Init      bool          // a link for init= on the kernel's command line too
	Options   []string      // of record --boot, besides these
	Buffers   int           // bytes that the recorder's rings and waiting data may take
	Hold      time.Duration // how long systemd waits at most for all to be attached
}

// Install copies the program, writes the unit and its options, and arms it. Installing again replaces
// all of that.
func (s System) Install(i Install) error {
	if !filepath.IsAbs(i.Dir) {
		return fmt.Errorf("%s is not an absolute path: name where recordings go from the root", i.Dir)
	}
	options := []string{"--dir", i.Dir}
	if !i.EveryBoot {
		token, err := newToken()
		if err != nil {
			return err
		}
		options = append(options, "--once", token)
	}
	binary, err := os.Open(i.Binary)
	if err != nil {
		return fmt.Errorf("cannot read the program to install: %w", err)
	}
	defer binary.Close()
	// The program first, the link that arms it last: half an installation does nothing.
	err = errors.Join(
		s.write(binaryFile, 0o755, binary),
		s.write(unitFile, 0o644, strings.NewReader(unitText(i))),
		s.write(optionsFile, 0o644, strings.NewReader(optionsText(append(options, i.Options...)))),
		os.MkdirAll(s.path(i.Dir), 0o700))
	if err != nil {
		return fmt.Errorf("cannot install in %s: %w", s.path("/"), err)
	}
	if i.Init {
		if err := s.link(initLink, "../lib/bootscope/bootscope"); err != nil {
			return err
		}
	}
	if err := s.arm(); err != nil {
		return err
	}
	return s.reload()
}

// link makes a symbolic link, or replaces it.
func (s System) link(name, to string) error {
	link := s.path(name)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %w", link, err)
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace %s: %w", link, err)
	}
	if err := os.Symlink(to, link); err != nil {
		return fmt.Errorf("cannot make %s: %w", link, err)
	}
	return nil
}

// write makes a file, or replaces it whole.
func (s System) write(name string, perm fs.FileMode, r io.Reader) error {
	target := s.path(name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Chmod(perm), f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Uninstall removes everything that Install made and, unless they are to be kept, the recordings. It
// returns what was removed.
func (s System) Uninstall(keepRecordings bool) ([]string, error) {
	dir := s.RecordingsDir()
	var removed []string
	var errs []error
	remove := func(name string) {
		switch err := os.Remove(s.path(name)); {
		case err == nil:
			removed = append(removed, s.path(name))
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	for _, name := range append([]string{wantsLink, initLink, unitFile, optionsFile, binaryFile}, keptFiles...) {
		remove(name)
	}
	if !keepRecordings {
		for _, name := range ownFiles(s.path(dir)) {
			remove(filepath.Join(dir, name))
		}
	}
	// Only if nothing of somebody else's is in them.
	for _, name := range []string{filepath.Dir(binaryFile), filepath.Dir(wantsLink), cacheDir, dir} {
		if os.Remove(s.path(name)) == nil {
			removed = append(removed, s.path(name))
		}
	}
	return removed, errors.Join(append(errs, s.reload())...)
}

// IsInit tells whether this is the running system, and the kernel's command line has bootscope-init as its
// init: the next boot's may have it too.
func (s System) IsInit() bool {
	return s.Live() && exists(s.path(initLink)) && slices.Contains(strings.Fields(readFile("/proc/cmdline")), "init="+initLink)
}

// RecordingsDir finds in the unit's options where recordings go.
func (s System) RecordingsDir() string {
	text, err := os.ReadFile(s.path(unitFile))
	if err != nil {
		return DefaultDir
	}
	for line := range strings.Lines(string(text)) {
		if paths, ok := strings.CutPrefix(line, "ReadWritePaths=-"); ok {
			first, _, _ := strings.Cut(paths, " -")
			return unescapeUnit(first)
		}
	}
	return DefaultDir
}

// reload tells systemd of the change, if this is the running system.
func (s System) reload() error {
	if !s.Live() {
		return nil
	}
	if out, err := exec.Command("systemctl", "daemon-reload").CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl daemon-reload: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

//go:build linux

package bootunit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A recording is armed by the link that makes sysinit.target want the unit. To record one boot only,
// the recorder removes the link as soon as the root is writable, while it records. On a root that
// never is, the link stays, and a mark beside the recordings tells that this one was made: the token
// of the installation, which the next boot finds as soon as it can look there.

func newToken() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

func (s System) arm() error { return s.link(wantsLink, "../"+UnitName) }

// Armed tells whether the next boot will be recorded.
func (s System) Armed() bool { return exists(s.path(wantsLink)) }

// Installed tells whether the unit is there.
func (s System) Installed() bool { return exists(s.path(unitFile)) }

// Disarm makes the next boot an ordinary one. The link is gone for good when it returns: a boot that
// hangs a moment later and is switched off comes back without a recorder. While the root is
// read-only it fails, with an error that is unix.EROFS.
func (s System) Disarm() error {
	link := s.path(wantsLink)
	if err := os.Remove(link); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot disarm: %w", err)
	}
	return syncDir(filepath.Dir(link))
}

// syncDir brings the names in a directory onto the disk.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // not every file system can
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

//go:build linux

package bootunit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// How many recordings are kept, and how much of the disk they may take together. The newest is kept
// in any case.
const (
	keepFiles = 5
	keepBytes = 64 << 20
)

const latestLink = "latest.bst"

// ErrSpent says that this was armed for one boot, and that boot was recorded.
var ErrSpent = errors.New("armed for one boot, which was recorded before")

// A Store is the directory of recordings.
type Store struct {
	Dir    string
	BootID string // of the boot that is recorded
	Once   string // the token of an installation for one boot, or ""
}

// Recordings are named by date and boot; one that was cut off is told by its name.
var (
	recordingName = regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{8}(-cut)?\.bst$`)
	partialName   = regexp.MustCompile(`^([0-9a-f]{8})\.bst\.partial-[0-9a-f]{8}$`)
	spentName     = regexp.MustCompile(`^\.recorded-[0-9a-f]{16}$`)
)

func (s *Store) bootName() string {
	return (strings.ReplaceAll(s.BootID, "-", "") + "00000000")[:8]
}

// Open begins a recording. It fails as long as the directory is on a file system that isn't mounted
// yet, or is read-only. What earlier boots left unfinished gets its name and its place among the others.
func (s *Store) Open() (*tracefile.Output, error) {
	if missing := missingMount(s.Dir); missing != "" {
		return nil, fmt.Errorf("%s is not mounted yet", missing)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := s.spend(); err != nil {
		return nil, err
	}
	s.adoptPartials()
	return tracefile.Create(filepath.Join(s.Dir, s.bootName()+".bst"), true)
}

// spend marks that the one recording of this installation is made.
func (s *Store) spend() error {
	if s.Once == "" {
		return nil
	}
	mark := filepath.Join(s.Dir, ".recorded-"+s.Once)
	f, err := os.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrSpent
	}
	if err != nil {
		return err
	}
	for _, old := range s.files(spentName) {
		if old.name != filepath.Base(mark) {
			os.Remove(filepath.Join(s.Dir, old.name))
		}
	}
	return errors.Join(f.Close(), syncDir(s.Dir))
}

// adoptPartials names the recordings that a power cut, or a kill, left behind.
func (s *Store) adoptPartials() {
	for _, f := range s.files(partialName) {
		boot := partialName.FindStringSubmatch(f.name)[1]
		name := fmt.Sprintf("%s-%s-cut.bst", f.changed.UTC().Format("20060102-150405"), boot)
		_ = os.Rename(filepath.Join(s.Dir, f.name), filepath.Join(s.Dir, name)) // it stays what it was
	}
}

// Save gives the finished recording its name, which it returns, makes latest.bst a link to it, and
// removes the oldest others.
func (s *Store) Save(output *tracefile.Output, now time.Time) (string, error) {
	if err := output.Commit(); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s.bst", now.UTC().Format("20060102-150405"), s.bootName())
	path := filepath.Join(s.Dir, name)
	if err := os.Rename(filepath.Join(s.Dir, s.bootName()+".bst"), path); err != nil {
		return "", err
	}
	// By a rename, so that the link always leads somewhere.
	temporary := filepath.Join(s.Dir, "."+latestLink)
	os.Remove(temporary)
	err := errors.Join(os.Symlink(name, temporary), os.Rename(temporary, filepath.Join(s.Dir, latestLink)))
	s.prune(name)
	return path, err
}

// prune removes the oldest recordings, by when they were written: the names tell only what the clock
// was, which on a board without a battery may be 1970.
func (s *Store) prune(newest string) {
	files := s.files(recordingName)
	slices.SortFunc(files, func(a, b storedFile) int { return b.changed.Compare(a.changed) })
	kept, bytes := 1, int64(0)
	for i, f := range files {
		if f.name == newest {
			bytes = f.size
			files = slices.Delete(files, i, i+1)
			break
		}
	}
	for _, f := range files {
		kept++
		if bytes += f.size; kept > keepFiles || bytes > keepBytes {
			os.Remove(filepath.Join(s.Dir, f.name))
		}
	}
}

type storedFile struct {
	name    string
	size    int64
	changed time.Time
}

func (s *Store) files(pattern *regexp.Regexp) []storedFile {
	var found []storedFile
	entries, _ := os.ReadDir(s.Dir)
	for _, e := range entries {
		if !e.Type().IsRegular() || !pattern.MatchString(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil {
			found = append(found, storedFile{e.Name(), info.Size(), info.ModTime()})
		}
	}
	return found
}

// Latest is the newest whole recording, or "" if there is none.
func (s *Store) Latest() (path string, info fs.FileInfo) {
	path, err := filepath.EvalSymlinks(filepath.Join(s.Dir, latestLink))
	if err != nil {
		return "", nil
	}
	if info, err = os.Stat(path); err != nil {
		return "", nil
	}
	return path, info
}

// Volatile tells whether what is stored here is lost when the machine is switched off.
func (s *Store) Volatile() bool {
	var st unix.Statfs_t
	if unix.Statfs(s.Dir, &st) != nil {
		return false
	}
	kind := uint32(st.Type) // signed, and of 32 bits on some architectures
	return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
}

// ownFiles lists what a Store made in dir.
func ownFiles(dir string) []string {
	names := []string{latestLink, "." + latestLink}
	s := &Store{Dir: dir}
	for _, pattern := range []*regexp.Regexp{recordingName, partialName, spentName} {
		for _, f := range s.files(pattern) {
			names = append(names, f.name)
		}
	}
	return names
}

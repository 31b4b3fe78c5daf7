//go:build linux

package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// Cgroups is the unified (version 2) cgroup tree. On a hybrid system systemd keeps its units there
// as well; on a pure version 1 system there is none, and units can't be told.
type Cgroups struct {
	mount string // "" if there is no such tree
	ids   map[string]uint64
}

// ErrNoUnifiedCgroups says that tasks can't be assigned to units.
var ErrNoUnifiedCgroups = errors.New("no cgroup2 file system is mounted (systemd.unified_cgroup_hierarchy=1 on the kernel's command line makes systemd use it)")

// FindCgroups looks where the tree is mounted.
func FindCgroups() (*Cgroups, error) {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var s unix.Statfs_t
		if unix.Statfs(dir, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC {
			return &Cgroups{mount: dir, ids: map[string]uint64{}}, nil
		}
	}
	return &Cgroups{}, ErrNoUnifiedCgroups
}

// Walk calls found for every cgroup there is. A cgroup's id is the inode of its directory.
func (c *Cgroups) Walk(found func(*event.Cgroup) error) error {
	if c.mount == "" {
		return nil
	}
	return filepath.WalkDir(c.mount, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it went away meanwhile
		}
		var s unix.Stat_t
		if unix.Stat(path, &s) != nil {
			return nil
		}
		name := strings.TrimPrefix(path, c.mount)
		if name == "" {
			name = "/"
		}
		c.ids[name] = s.Ino
		e := event.New(event.KindCgroup).(*event.Cgroup)
		e.Time, e.Cgroup = BootTime(), s.Ino
		e.SetTail([]byte(name))
		return found(e)
	})
}

// idOf returns the id of a process's cgroup, 0 if it isn't known.
func (c *Cgroups) idOf(procDir string) uint64 {
	text, err := os.ReadFile(procDir + "/cgroup")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return c.ids[path]
		}
	}
	return 0
}

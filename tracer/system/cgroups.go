//go:build linux

package system

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// Cgroups is the tree of cgroups that units are told by: the unified one (version 2). On a hybrid
// system systemd keeps its units there as well; on a pure version 1 system there is none, and units
// can't be told. The memory controller's own tree is read too, where it has one.
type Cgroups struct {
	mount  string // "" if there is no unified tree
	memory string // "" if the memory controller is in the unified tree
	ids    map[string]uint64
}

// ErrNoUnifiedCgroups says that tasks can't be assigned to units.
var ErrNoUnifiedCgroups = errors.New("no cgroup2 file system is mounted (systemd.unified_cgroup_hierarchy=1 on the kernel's command line makes systemd use it)")

// FindCgroups looks where the trees are mounted.
func FindCgroups() (*Cgroups, error) {
	c := &Cgroups{ids: map[string]uint64{}}
	if isFilesystem("/sys/fs/cgroup/memory", unix.CGROUP_SUPER_MAGIC) {
		c.memory = "/sys/fs/cgroup/memory"
	}
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if isFilesystem(dir, unix.CGROUP2_SUPER_MAGIC) {
			c.mount = dir
			return c, nil
		}
	}
	return c, ErrNoUnifiedCgroups
}

func isFilesystem(dir string, magic int64) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && int64(s.Type) == magic
}

// Walk calls found for every cgroup there is. A cgroup's id is the inode of its directory.
func (c *Cgroups) Walk(found func(*event.Cgroup) error) error {
	err := walkTree(c.mount, func(name string, id uint64) error {
		c.ids[name] = id
		return found(newCgroup(name, id, 0))
	})
	if err != nil {
		return err
	}
	hierarchy := hierarchyOf(readFile("/proc/cgroups"), "memory")
	return walkTree(c.memory, func(name string, id uint64) error { return found(newCgroup(name, id, hierarchy)) })
}

func newCgroup(name string, id uint64, hierarchy uint32) *event.Cgroup {
	e := event.New(event.KindCgroup).(*event.Cgroup)
	e.Time, e.Cgroup, e.Hierarchy = BootTime(), id, hierarchy
	e.SetTail([]byte(name))
	return e
}

func walkTree(root string, found func(name string, id uint64) error) error {
	if root == "" {
		return nil
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it went away meanwhile
		}
		var s unix.Stat_t
		if unix.Stat(path, &s) != nil {
			return nil
		}
		name := strings.TrimPrefix(path, root)
		if name == "" {
			name = "/"
		}
		return found(name, s.Ino)
	})
}

// hierarchyOf reads the number of a controller's hierarchy from the text of /proc/cgroups.
func hierarchyOf(text, controller string) uint32 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == controller {
			n, _ := strconv.ParseUint(f[1], 10, 32)
			return uint32(n)
		}
	}
	return 0
}

// idOf returns the id of a process's cgroup, 0 if it isn't known.
func (c *Cgroups) idOf(procDir string) uint64 {
	for line := range strings.Lines(readFile(procDir + "/cgroup")) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return c.ids[strings.TrimSuffix(path, "\n")]
		}
	}
	return 0
}

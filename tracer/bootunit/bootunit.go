//go:build linux

// Package bootunit is bootscope's place in a system: the systemd unit that records a boot, the files
// that belong to it, how it is armed for one boot or for all, the directory of recordings, and the
// socket by which a running recording is asked. It must not know how anything is recorded.
package bootunit

import (
	"path/filepath"
)

// Where things are in a system.
const (
	UnitName   = "bootscope.service"
	DefaultDir = "/var/lib/bootscope"

	binaryFile  = "/usr/lib/bootscope/bootscope"
	optionsFile = "/etc/default/bootscope"
	unitFile    = "/etc/systemd/system/" + UnitName
	wantsLink   = "/etc/systemd/system/sysinit.target.wants/" + UnitName
	initLink    = "/usr/bin/bootscope-init"
)

// The recorder keeps what it finds out about the kernel, in one of these (see record.CacheDir).
const cacheDir = "/var/cache/bootscope"

var keptFiles = []string{cacheDir + "/start.json", "/usr/lib/bootscope/start.json"}

// A System is a root file system that bootscope is installed in: "/", or an image's.
type System struct{ Root string }

func (s System) path(name string) string { return filepath.Join(s.Root, name) }

// Live tells whether this is the running system and systemd runs it.
func (s System) Live() bool {
	return filepath.Clean("/"+s.Root) == "/" && exists("/run/systemd/system")
}

//go:build linux

package bootunit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// unitDirs are where systemd finds mount units; those of /etc/fstab are in the generator's.
var unitDirs = []string{
	"/etc/systemd/system", "/run/systemd/system", "/run/systemd/generator", "/usr/lib/systemd/system", "/lib/systemd/system",
}

// missingMount returns the directory, dir itself or one that it is in, that systemd is to mount
// something on and hasn't yet. What is written below it now would be hidden later.
func missingMount(dir string) string {
	// What the system has mounted: this process may have a mount namespace from before.
	mounted := mountPoints(readFile("/proc/1/mountinfo"))
	for at := filepath.Clean(dir); at != "/"; at = filepath.Dir(at) {
		if mounted[at] {
			return "" // what is above is mounted too
		}
		if mountWanted(mountUnit(at)) {
			return at
		}
	}
	return ""
}

// mountWanted tells whether a mount belongs to the boot. That a unit exists doesn't mean it.
func mountWanted(unit string) bool {
	for _, dir := range unitDirs {
		for _, by := range []string{"local-fs.target.requires", "local-fs.target.wants"} {
			if exists(filepath.Join(dir, by, unit)) {
				return true
			}
		}
	}
	return false
}

// mountUnit is the name of a mount unit, as systemd-escape --path makes it.
func mountUnit(path string) string {
	var b strings.Builder
	for i, c := range []byte(strings.Trim(path, "/")) {
		switch {
		case c == '/':
			b.WriteByte('-')
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == ':' || c == '_' || c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteString(`\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		}
	}
	return b.String() + ".mount"
}

// mountPoints reads /proc/PID/mountinfo, where blanks are octal escapes.
func mountPoints(text string) map[string]bool {
	points := map[string]bool{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 {
			points[strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4])] = true
		}
	}
	return points
}

func readFile(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// Unlock makes the unit's own view of the recordings and of the link that arms it writable. While
// systemd sets the unit up, early in the boot, the root is read-only, and so is every mount made from it
// for the unit; when the root is made writable later, those stay as they are. It changes nothing
// outside of the unit's mount namespace.
func Unlock(dir string) error {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	if first, err := os.Readlink("/proc/1/ns/mnt"); err != nil || own == first {
		return err
	}
	mounted := mountPoints(readFile("/proc/self/mountinfo"))
	for _, name := range []string{dir, filepath.Dir(wantsLink)} {
		if name, err = filepath.EvalSymlinks(name); err != nil || !mounted[name] {
			continue // it is on another file system, which comes later
		}
		if err := unix.Mount("", name, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return fmt.Errorf("making %s writable for the recorder: %w", name, err)
		}
	}
	return nil
}

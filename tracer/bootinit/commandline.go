//go:build linux

package bootinit

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A commandLine is what the kernel's command line says to this program. The kernel takes a parameter with
// a point for a module's and doesn't hand it on to init.
type commandLine struct {
	off  bool          // bootscope=off
	init string        // bootscope.init=PATH: the real init; "" for the usual one
	hold time.Duration // bootscope.hold=2s: it begins only when all is attached, or after this long
}

// maxHold is how long the real init is held back at most, whatever is asked for.
const maxHold = 2 * time.Minute

// parseCommandLine leaves out what it doesn't understand: nobody is there to correct it.
func parseCommandLine(text string) (c commandLine) {
	for _, word := range strings.Fields(text) {
		if word == "--" { // the rest is init's
			break
		}
		switch name, value, _ := strings.Cut(word, "="); name {
		case "bootscope":
			c.off = value == "off"
		case "bootscope.init":
			c.init = value
		case "bootscope.hold":
			d, _ := time.ParseDuration(value)
			c.hold = min(max(d, 0), maxHold)
		}
	}
	return c
}

// readCommandLine reads the kernel's command line, also where /proc isn't mounted.
func readCommandLine() (*commandLine, error) {
	text, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		text, err = readDetached("cmdline")
	}
	if err != nil {
		return nil, fmt.Errorf("the kernel's command line cannot be read: %w", err)
	}
	c := parseCommandLine(string(text))
	return &c, nil
}

// readDetached reads a file of a proc that is mounted nowhere (Linux 5.2): a mount that the real init
// finds could change what it does.
func readDetached(name string) ([]byte, error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("fsopen proc: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("fsconfig proc: %w", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("fsmount proc: %w", err)
	}
	defer unix.Close(mount)
	fd, err := unix.Openat(mount, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s of proc: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return io.ReadAll(f)
}

package tracefile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
)

// An Output is a file in the making. It has its name only after Commit, so a name never stands for
// half a file, and what had it before stays until then.
type Output struct {
	*os.File
	path  string // "" for standard output
	force bool
	done  bool
}

// Create begins an output file that only its owner can read: traces hold command lines. It refuses a
// path that exists unless force is set. "-" is standard output.
//
// A symbolic link at path is replaced and never followed: someone else may have planted it.
func Create(path string, force bool) (*Output, error) {
	if path == "-" {
		return &Output{File: os.Stdout}, nil
	}
	o := &Output{path: path, force: force}
	if err := o.checkTarget(); err != nil {
		return nil, err
	}
	for range 100 {
		// Not crypto/rand, which can block early in a boot. O_EXCL refuses symbolic links too.
		name := fmt.Sprintf("%s.partial-%08x", path, rand.Uint32())
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot create %s: %w", path, err)
		}
		o.File = f
		return o, nil
	}
	return nil, fmt.Errorf("cannot create %s: every temporary name beside it exists", path)
}

// checkTarget tells why the target must not be replaced.
func (o *Output) checkTarget() error {
	info, err := os.Lstat(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot create %s: %w", o.path, err)
	}
	if !o.force {
		return fmt.Errorf("%s exists: give another name, or --force to overwrite it", o.path)
	}
	// A rename over /dev/null, or over the link /dev/stdout, would break the machine.
	if info.Mode()&fs.ModeSymlink != 0 {
		if to, err := os.Stat(o.path); err == nil {
			info = to
		}
	}
	if info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: it cannot be overwritten (- writes to standard output)", o.path)
	}
	return nil
}

// Commit gives the file its name. The caller may commit after an error too, to keep what there is.
func (o *Output) Commit() error {
	if o.done || o.path == "" {
		return nil
	}
	o.done = true
	name := o.Name()
	if err := o.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", name, err)
	}
	// It may have come into being since Create.
	if err := o.checkTarget(); err != nil {
		return fmt.Errorf("%w; what was written is in %s", err, name)
	}
	if err := os.Rename(name, o.path); err != nil {
		return fmt.Errorf("%w; what was written is in %s", err, name)
	}
	return nil
}

// Abort removes the file. After Commit it does nothing, so that it can be deferred.
func (o *Output) Abort() {
	if o.done || o.path == "" {
		return
	}
	o.done = true
	name := o.Name()
	o.Close()
	os.Remove(name)
}

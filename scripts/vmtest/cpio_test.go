//go:build vmtest

package vmtest

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// A cpioWriter writes the archive that the kernel unpacks as its first root file system (format
// "newc"). Several archives one after the other are one initramfs.
type cpioWriter struct {
	w    io.Writer
	made map[string]bool // directories, and other names that must not come twice
	ino  int
	err  error
}

const (
	cpioDir     = 0o040000
	cpioFile    = 0o100000
	cpioSymlink = 0o120000
)

func newCPIOWriter(w io.Writer) *cpioWriter {
	return &cpioWriter{w: w, made: map[string]bool{".": true, "/": true, "": true}}
}

func (c *cpioWriter) file(name string, perm fs.FileMode, data []byte) {
	c.parents(name)
	c.entry(name, cpioFile|int(perm.Perm()), data)
}

func (c *cpioWriter) symlink(name, target string) {
	if c.made[name] {
		return
	}
	c.made[name] = true
	c.parents(name)
	c.entry(name, cpioSymlink|0o777, []byte(target))
}

func (c *cpioWriter) dir(name string) {
	if c.made[name] {
		return
	}
	c.made[name] = true
	c.parents(name)
	c.entry(name, cpioDir|0o755, nil)
}

func (c *cpioWriter) parents(name string) { c.dir(path.Dir(name)) }

func (c *cpioWriter) close() error {
	c.entry("TRAILER!!!", 0, nil)
	return c.err
}

func (c *cpioWriter) entry(name string, mode int, data []byte) {
	c.ino++
	links, check, none := 1, 0, 0
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", c.ino, mode, none, none, links,
		none, len(data), none, none, none, none, len(name)+1, check)
	c.write([]byte(pad(header + name + "\x00")))
	c.write(data)
	c.write(make([]byte, -len(data)&3))
}

// pad fills up to a multiple of four bytes.
func pad(s string) string { return s + strings.Repeat("\x00", -len(s)&3) }

func (c *cpioWriter) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

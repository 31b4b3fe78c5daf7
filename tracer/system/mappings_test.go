//go:build linux

package system

import (
	"os"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

func TestParseMapping(t *testing.T) {
	type mapping struct {
		start, length, offset, inode uint64
		device, protection, flags    uint32
		name                         string
	}
	for _, tt := range []struct {
		line string
		want *mapping
	}{
		{"55d0c0a00000-55d0c0a1f000 r-xp 00002000 fe:00 1573187                    /usr/bin/cat",
			&mapping{0x55d0c0a00000, 0x1f000, 0x2000, 1573187, 0xfe << 20, 5, 2, "/usr/bin/cat"}},
		{"7f0000000000-7f0000001000 rwxs 00000000 08:11 7 /dir with  blanks/x (deleted)",
			&mapping{0x7f0000000000, 0x1000, 0, 7, 8<<20 | 0x11, 7, 1, "/dir with  blanks/x (deleted)"}},
		{"7f0000000000-7f0000001000 r--p 00000000 08:11 7   /not/executable", nil},
		{"7fff0000-7fff1000 r-xp 00000000 00:00 0                          [vdso]", nil},
		{"7fff0000-7fff1000 r-xp 00000000 00:00 0 ", nil},
		{"7fff1000-7fff0000 r-xp 00000000 00:00 0    /backwards", nil},
		{"nonsense r-xp x y z /w", nil},
		{"", nil},
	} {
		e := parseMapping(tt.line)
		if (e == nil) != (tt.want == nil) {
			t.Errorf("%q is %+v, want %+v", tt.line, e, tt.want)
		} else if e != nil {
			got := mapping{e.Start, e.Length, e.Offset, e.Inode, e.Device, e.Protection, e.MapFlags, string(e.TailBytes())}
			if got != *tt.want {
				t.Errorf("%q is %+v, want %+v", tt.line, got, *tt.want)
			}
		}
	}
}

// TestReadMappings finds this program among its own mappings, and stops when it is told to.
func TestReadMappings(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid, found := uint32(os.Getpid()), false
	err = ReadMappings(pid, func(e *event.Mapping) error {
		found = found || e.PID == pid && string(e.TailBytes()) == self && e.Protection&4 != 0
		return nil
	})
	if err != nil || !found {
		t.Errorf("%s is mapped: %v (%v)", self, found, err)
	}
	if err := ReadMappings(pid, func(*event.Mapping) error { return os.ErrClosed }); err != os.ErrClosed {
		t.Errorf("error %v, want the one that it was told", err)
	}
	if err := ReadMappings(1<<30, func(*event.Mapping) error { return os.ErrClosed }); err != nil {
		t.Errorf("a process that there isn't: %v, want none", err)
	}
}

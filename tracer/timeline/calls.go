package timeline

import (
	"strings"

	"github.com/bootscope/bootscope/tracer/event/syscalls"
)

// CallClass is what a system call means for the page cache and for the time in it.
type CallClass uint8

// The classes.
const (
	OtherCall  CallClass = iota // whatever pages it brings were read
	WriteCall                   // brings pages to fill them
	CopyCall                    // brings pages of the file it reads and of the one it writes
	AheadCall                   // asks for pages before they are needed
	SyncCall                    // waits until something is on storage
	RandomCall                  // waits for the kernel's random numbers, early in a boot
)

// classes has them by the names of calls. What ends in 32 or 64, or is private to arm, is the same call.
var classes = map[string]CallClass{
	"write": WriteCall, "pwrite": WriteCall, "writev": WriteCall, "pwritev": WriteCall, "pwritev2": WriteCall,
	"fallocate": WriteCall, "truncate": WriteCall, "ftruncate": WriteCall,
	"copy_file_range": CopyCall, "sendfile": CopyCall, "splice": CopyCall,
	"readahead": AheadCall, "fadvise": AheadCall, "fadvise64_": AheadCall, "madvise": AheadCall, "process_madvise": AheadCall,
	"fsync": SyncCall, "fdatasync": SyncCall, "sync": SyncCall, "syncfs": SyncCall, "msync": SyncCall,
	"sync_file_range": SyncCall, "getrandom": RandomCall,
}

// calls are the classes of a machine's system calls, by number and table.
type calls [2][512]CallClass

func callsOf(arch string) *calls {
	c := &calls{}
	for nr := range c[0] {
		for table := range c {
			name := strings.TrimPrefix(syscalls.Name(arch, table == 1, uint16(nr)), "arm_")
			c[table][nr] = classes[strings.TrimSuffix(name, "64")]
		}
	}
	return c
}

// of returns the class of a call.
func (c *calls) of(nr uint16, compat bool) CallClass {
	table := 0
	if compat {
		table = 1
	}
	if int(nr) >= len(c[table]) {
		return OtherCall
	}
	return c[table][nr]
}

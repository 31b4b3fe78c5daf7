package timeline

import (
	"strings"

	"github.com/bootscope/bootscope/tracer/event/syscalls"
)

// callClass is what a system call means for the page cache and for the time in it.
type callClass uint8

const (
	otherCall callClass = iota // whatever pages it brings were read
	writeCall                  // brings pages to fill them
	copyCall                   // brings pages of the file it reads and of the one it writes
	aheadCall                  // asks for pages before they are needed
	syncCall                   // waits until something is on storage
)

// classes has them by the names of calls. What ends in 32 or 64, or is private to arm, is the same call.
var classes = map[string]callClass{
	"write": writeCall, "pwrite": writeCall, "writev": writeCall, "pwritev": writeCall, "pwritev2": writeCall,
	"fallocate": writeCall, "truncate": writeCall, "ftruncate": writeCall,
	"copy_file_range": copyCall, "sendfile": copyCall, "splice": copyCall,
	"readahead": aheadCall, "fadvise": aheadCall, "fadvise64_": aheadCall, "madvise": aheadCall, "process_madvise": aheadCall,
	"fsync": syncCall, "fdatasync": syncCall, "sync": syncCall, "syncfs": syncCall, "msync": syncCall,
	"sync_file_range": syncCall,
}

// calls are the classes of a machine's system calls, by number and table.
type calls [2][512]callClass

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
func (c *calls) of(nr uint16, compat bool) callClass {
	table := 0
	if compat {
		table = 1
	}
	if int(nr) >= len(c[table]) {
		return otherCall
	}
	return c[table][nr]
}

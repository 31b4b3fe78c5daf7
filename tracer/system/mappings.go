//go:build linux

package system

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// ReadMappings calls found for every executable mapping of a file that exists now, in all processes.
func ReadMappings(found func(*event.Mapping) error) error {
	pids, err := numericNames("/proc")
	if err != nil {
		return err
	}
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
		if err != nil {
			continue // it ended
		}
		now := BootTime()
		for line := range strings.Lines(string(text)) {
			e := parseMapping(strings.TrimSuffix(line, "\n"))
			if e == nil {
				continue
			}
			e.Time, e.PID, e.TID = now, uint32(pid), uint32(pid)
			if err := found(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseMapping reads a line of /proc/PID/maps. It returns nil for what is not an executable mapping
// of a file.
func parseMapping(line string) *event.Mapping {
	// The name starts at a fixed column or after one space, and may itself hold spaces.
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 6 || len(fields[1]) != 4 || fields[1][2] != 'x' {
		return nil
	}
	name := strings.TrimLeft(fields[5], " ")
	if !strings.HasPrefix(name, "/") {
		return nil
	}
	var start, end, offset, inode uint64
	var major, minor uint32
	if _, err := fmt.Sscanf(fields[0]+" "+fields[2]+" "+fields[3]+" "+fields[4], "%x-%x %x %x:%x %d",
		&start, &end, &offset, &major, &minor, &inode); err != nil || end < start {
		return nil
	}
	e := event.New(event.KindMapping).(*event.Mapping)
	e.Start, e.Length, e.Offset = start, end-start, offset
	e.Device, e.Inode = major<<20|minor, inode
	e.Protection, e.MapFlags = protection(fields[1])
	e.SetTail([]byte(name))
	return e
}

// protection turns "r-xp" into the bits of mmap(2).
func protection(text string) (prot, flags uint32) {
	for i, bit := range []uint32{1, 2, 4} { // PROT_READ, PROT_WRITE, PROT_EXEC
		if text[i] != '-' {
			prot |= bit
		}
	}
	if text[3] == 's' {
		return prot, 1 // MAP_SHARED
	}
	return prot, 2 // MAP_PRIVATE
}

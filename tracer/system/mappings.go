//go:build linux

package system

import (
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// ReadMappings calls found for every executable mapping of a file that a process has now. One that has ended has none.
func ReadMappings(pid uint32, found func(*event.Mapping) error) error {
	text, err := readWhole(procDir(int(pid)) + "/maps")
	if err != nil {
		return nil
	}
	now := BootTime()
	for line := range strings.Lines(string(text)) {
		e := parseMapping(strings.TrimSuffix(line, "\n"))
		if e == nil {
			continue
		}
		e.Time, e.PID, e.TID = now, pid, pid
		if err := found(e); err != nil {
			return err
		}
	}
	return nil
}

// parseMapping reads a line of /proc/PID/maps. It returns nil for what is not an executable mapping
// of a file.
func parseMapping(line string) *event.Mapping {
	if at := strings.IndexByte(line, ' '); at < 0 || len(line) < at+5 || line[at+3] != 'x' {
		return nil // most lines are
	}
	// The name starts at a fixed column or after one space, and may itself hold spaces.
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 6 || len(fields[1]) != 4 {
		return nil
	}
	name := strings.TrimLeft(fields[5], " ")
	if !strings.HasPrefix(name, "/") {
		return nil
	}
	from, to, _ := strings.Cut(fields[0], "-")
	major, minor, _ := strings.Cut(fields[3], ":")
	var numbers [6]uint64
	for i, text := range []string{from, to, fields[2], major, minor, fields[4]} {
		base := 16
		if i == 5 { // the inode
			base = 10
		}
		var err error
		if numbers[i], err = strconv.ParseUint(text, base, 64); err != nil {
			return nil
		}
	}
	start, end, offset, inode := numbers[0], numbers[1], numbers[2], numbers[5]
	if end < start {
		return nil
	}
	e := event.New(event.KindMapping).(*event.Mapping)
	e.Start, e.Length, e.Offset = start, end-start, offset
	e.Device, e.Inode = uint32(numbers[3])<<20|uint32(numbers[4]), inode
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

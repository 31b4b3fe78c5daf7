package timeline

import (
	"regexp"
	"sort"
	"strconv"
)

// Initcall is a function that the kernel called at its start, or of a module, or the probe of a device:
// what it logs when it is booted with initcall_debug.
type Initcall struct {
	Name       string
	Start, End uint64
	Result     int64
}

var (
	initcallCalled   = regexp.MustCompile(`^calling\s+(\S+(?: \[\S+\])?)\s+@\s+\d+`)
	initcallReturned = regexp.MustCompile(`^initcall (\S+(?: \[\S+\])?) returned (-?\d+) .*?after (\d+) usecs`)
	probeReturned    = regexp.MustCompile(`^(probe of .+) returned (-?\d+) after (\d+) usecs`)
)

// Initcalls are those that the kernel's log tells of, in order of their begin. The line that it has returned has
// the duration; that it was called has the exact begin.
func (t *Timeline) Initcalls() []Initcall {
	var list []Initcall
	called := map[string]uint64{}
	for _, line := range t.KernelLog {
		if m := initcallCalled.FindStringSubmatch(line.Text); m != nil {
			called[m[1]] = line.Time
			continue
		}
		m := initcallReturned.FindStringSubmatch(line.Text)
		if m == nil {
			m = probeReturned.FindStringSubmatch(line.Text)
		}
		if m == nil {
			continue
		}
		result, _ := strconv.ParseInt(m[2], 10, 64)
		us, err := strconv.ParseUint(m[3], 10, 64)
		if err != nil || us > line.Time/1e3 { // longer than the kernel has run
			us = 0
		}
		start, ok := called[m[1]]
		if !ok {
			start = line.Time - us*1e3
		}
		delete(called, m[1])
		list = append(list, Initcall{m[1], start, line.Time, result})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Start < list[j].Start })
	return list
}

// IsInitcall tells whether a line says that a function was called or has returned.
func (l *KernelLine) IsInitcall() bool {
	return initcallCalled.MatchString(l.Text) || initcallReturned.MatchString(l.Text) || probeReturned.MatchString(l.Text)
}

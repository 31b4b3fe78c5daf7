package tracefile

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// A form is how a number stands in the text. parse accepts what append writes, and a bare number.
type form struct {
	append func(b []byte, v uint64) []byte
	parse  func(s string) (uint64, error)
}

// forms has a form for each typedef of bpf/events.h that is not a plain decimal number.
var forms = map[string]form{
	"boot_ns":        {appendSeconds, parseSeconds},
	"duration_ns":    {appendSeconds, parseSeconds},
	"clock_ns":       {appendSeconds, parseSeconds},
	"address":        {appendHex, parseNumber},
	"file_id":        {appendHex, parseNumber},
	"flag_bits":      {appendHex, parseNumber},
	"open_flags":     {appendHex, parseNumber},
	"file_mode":      {appendOctal, parseNumber},
	"device_number":  {appendDevice, parseDevice},
	"byte_count":     withUnit("B"),
	"kilohertz":      withUnit("kHz"),
	"descriptor":     withName("AT_FDCWD", 1<<64-100),
	"syscall_number": withName("none", event.NoSyscall),
}

// enums has a form for each field that holds an enum, which its type doesn't tell.
var enums = map[string]form{
	"switch.state":  withNames(func(v uint64) string { return event.TaskState(v).String() }),
	"task.state":    {appendLetter, parseLetter},
	"task.phase":    withNames(func(v uint64) string { return event.TaskPhase(v).String() }),
	"clock.reason":  withNames(func(v uint64) string { return event.ClockReason(v).String() }),
	"lost.probe":    withNames(func(v uint64) string { return event.Probe(v).String() }),
	"lost.reason":   withNames(func(v uint64) string { return event.LostReason(v).String() }),
	"waking.by":     withNames(func(v uint64) string { return event.Waker(v).String() }),
	"interrupts.by": withNames(func(v uint64) string { return event.Waker(v).String() }),
	"socket.call":   withNames(func(v uint64) string { return event.SocketCall(v).String() }),
	"reclaim.phase": withNames(func(v uint64) string { return event.ReclaimPhase(v).String() }),
	"memory.phase":  withNames(func(v uint64) string { return event.MemoryPhase(v).String() }),
	"reclaim.kind":  withNames(func(v uint64) string { return event.ReclaimKind(v).String() }),
}

func formOf(s *event.Spec, f *event.Field) form {
	if form, ok := enums[s.Name+"."+f.Name]; ok {
		return form
	}
	if form, ok := forms[f.Type]; ok {
		return form
	}
	if f.Signed {
		return form{appendSigned, parseNumber}
	}
	return form{appendDecimal, parseNumber}
}

// isDigest tells whether an array of bytes is no text, which its type doesn't tell.
func isDigest(s *event.Spec, f *event.Field) bool {
	return f.Size == 1 && f.Count > 0 && (f.Name == "build_id" || f.Name == "ip") &&
		(s.Kind == event.KindMapping || s.Kind == event.KindSocket)
}

// defaultOf is the value of a field that a line doesn't mention.
func defaultOf(f *event.Field) uint64 {
	if f.Type == "syscall_number" {
		return event.NoSyscall
	}
	return 0
}

func appendDecimal(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }
func appendSigned(b []byte, v uint64) []byte  { return strconv.AppendInt(b, int64(v), 10) }
func appendHex(b []byte, v uint64) []byte     { return strconv.AppendUint(append(b, "0x"...), v, 16) }
func appendOctal(b []byte, v uint64) []byte   { return strconv.AppendUint(append(b, "0o"...), v, 8) }

// parseNumber accepts decimal, 0x, 0o and negative numbers; the latter as two's complement.
func parseNumber(s string) (uint64, error) {
	if v, err := strconv.ParseUint(s, 0, 64); err == nil {
		return v, nil
	}
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v), nil
	}
	return 0, fmt.Errorf("%q is not a number that fits", s)
}

func withUnit(unit string) form {
	return form{
		func(b []byte, v uint64) []byte { return append(appendDecimal(b, v), unit...) },
		func(s string) (uint64, error) { return parseNumber(strings.TrimSuffix(s, unit)) },
	}
}

// withName is for signed numbers with one value that has a name.
func withName(name string, value uint64) form {
	return form{
		func(b []byte, v uint64) []byte {
			if v == value {
				return append(b, name...)
			}
			return appendSigned(b, v)
		},
		func(s string) (uint64, error) {
			if s == name {
				return value, nil
			}
			return parseNumber(s)
		},
	}
}

// withNames is for enums, which are 16 bits; known gives a number for a value that has no name.
func withNames(known func(uint64) string) form {
	name := func(v uint64) string {
		if v > 1<<16-1 {
			return strconv.FormatUint(v, 10)
		}
		return known(v)
	}
	return form{
		func(b []byte, v uint64) []byte { return append(b, name(v)...) },
		func(s string) (uint64, error) {
			v, err := parseNumber(s)
			if err == nil {
				return v, nil
			}
			var names []string
			for v := range uint64(256) {
				if name(v) == s {
					return v, nil
				}
				if name(v) != strconv.FormatUint(v, 10) {
					names = append(names, name(v))
				}
			}
			return 0, fmt.Errorf("%q is not a number or one of %s", s, strings.Join(names, ", "))
		},
	}
}

// appendLetter writes the state of /proc/PID/stat.
func appendLetter(b []byte, v uint64) []byte {
	if v >= 'A' && v <= 'Z' || v >= 'a' && v <= 'z' {
		return append(b, byte(v))
	}
	return appendDecimal(b, v)
}

func parseLetter(s string) (uint64, error) {
	if len(s) == 1 && s[0] >= 'A' {
		return uint64(s[0]), nil
	}
	return parseNumber(s)
}

// appendSeconds writes nanoseconds as seconds, so that times look as they do in reports.
func appendSeconds(b []byte, v uint64) []byte { return append(appendTime(b, v), 's') }

func appendTime(b []byte, v uint64) []byte {
	return fmt.Appendf(b, "%d.%09d", v/1e9, v%1e9)
}

func parseSeconds(s string) (uint64, error) {
	whole, part, _ := strings.Cut(strings.TrimSuffix(s, "s"), ".")
	sec, err := strconv.ParseUint(whole, 10, 64)
	ns := uint64(0)
	if err == nil && len(part) <= 9 {
		ns, err = strconv.ParseUint((part + "000000000")[:9], 10, 64)
	}
	high, low := bits.Mul64(sec, 1e9)
	if err != nil || len(part) > 9 || high > 0 || low+ns < low {
		return 0, fmt.Errorf("%q is not a time in seconds with at most 9 decimals", s)
	}
	return low + ns, nil
}

// Devices are packed as the kernel does: major << 20 | minor.
func appendDevice(b []byte, v uint64) []byte { return fmt.Appendf(b, "%d:%d", v>>20, v&(1<<20-1)) }

func parseDevice(s string) (uint64, error) {
	major, minor, ok := strings.Cut(s, ":")
	if !ok {
		return parseNumber(s)
	}
	high, err1 := strconv.ParseUint(major, 10, 12)
	low, err2 := strconv.ParseUint(minor, 10, 20)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%q is not a device as major:minor", s)
	}
	return high<<20 | low, nil
}

//go:build linux

package system

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// maxKernelLine is more than the kernel writes in one record (CONSOLE_EXT_LOG_MAX, 8 KiB).
const maxKernelLine = 16 << 10

// A KernelLog reads the kernel's log, from its oldest line on.
type KernelLog struct {
	file *os.File
	buf  []byte
}

// OpenKernelLog begins to read. Reading needs CAP_SYSLOG where kernel.dmesg_restrict is set.
func OpenKernelLog() (*KernelLog, error) {
	// Not by os.Open, whose poller would make a read wait for the next line.
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("the kernel's log cannot be read: open /dev/kmsg: %w", err)
	}
	return &KernelLog{file: os.NewFile(uintptr(fd), "/dev/kmsg"), buf: make([]byte, maxKernelLine)}, nil
}

// Close ends reading.
func (l *KernelLog) Close() error { return l.file.Close() }

// Read calls found for every line that came since the last call. Lines that the kernel overwrote
// meanwhile show as a gap in the sequence.
func (l *KernelLog) Read(found func(*event.KernelLog) error) error {
	suspended := Suspended()
	for {
		n, err := unix.Read(int(l.file.Fd()), l.buf)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // overwritten: the next read goes on after it
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("reading /dev/kmsg: %w", err)
		case n == 0:
			return nil
		}
		if e := parseKernelLine(l.buf[:n], suspended); e != nil {
			if err := found(e); err != nil {
				return err
			}
		}
	}
}

// parseKernelLine reads a record of /dev/kmsg: "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT", then
// lines of its dictionary, each with a blank before it. The stamp is of the scheduler's clock, which
// starts with the kernel and stands still in suspend.
func parseKernelLine(record []byte, suspended uint64) *event.KernelLog {
	head, text, ok := bytes.Cut(record, []byte(";"))
	fields := strings.Split(string(head), ",")
	if !ok || len(fields) < 3 {
		return nil
	}
	priority, err1 := strconv.ParseUint(fields[0], 10, 32)
	sequence, err2 := strconv.ParseUint(fields[1], 10, 64)
	us, err3 := strconv.ParseUint(fields[2], 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	e := event.New(event.KindKernelLog).(*event.KernelLog)
	// The first lines have the stamp 0: that is when the clock began.
	e.Time, e.Priority, e.Sequence = fromMonotonic(us, suspended), uint32(priority), uint32(sequence)
	e.SetTail(unescapeKernelText(text))
	return e
}

// unescapeKernelText takes back the \xHH that the kernel writes for control bytes and the backslash.
func unescapeKernelText(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if len(text) >= 4 && text[0] == '\\' && text[1] == 'x' {
			if c, err := strconv.ParseUint(string(text[2:4]), 16, 8); err == nil {
				out, text = append(out, byte(c)), text[4:]
				continue
			}
		}
		out, text = append(out, text[0]), text[1:]
	}
	return out
}

//go:build linux

package system

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

const (
	// maxJournalMessage is how much of one message is kept.
	maxJournalMessage = 4 << 10
	// maxJournalLine is the longest line of journalctl that is read; what is longer is a dump of something.
	maxJournalLine = 256 << 10
)

// journalFields are what is asked for, besides the stamps that come in any case.
const journalFields = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM,_PID,_SYSTEMD_UNIT,UNIT,_TRANSPORT,_SOURCE_MONOTONIC_TIMESTAMP,_BOOT_ID"

// A JournalReader reads this boot's messages through journalctl, which knows the journal's format and
// who may read it.
type JournalReader struct {
	// Follow waits for new messages after the last one.
	Follow bool
	// Unit limits it to messages of one unit, and those that systemd writes about it.
	Unit string
	// Limit is how many bytes of messages are read at most; 0 for no limit.
	Limit int
}

// ErrJournalCut says that the journal has more than was to be kept.
var ErrJournalCut = errors.New("the rest of the journal was left out: it is over the limit")

// Read calls found for every message, the kernel's own excepted.
func (r *JournalReader) Read(ctx context.Context, found func(*event.Journal) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []string{"--quiet", "--boot", "--no-pager", "--output=json", "--output-fields=" + journalFields}
	if r.Unit != "" {
		args = append(args, "--unit="+r.Unit)
	}
	if r.Follow {
		args = append(args, "--follow", "--no-tail")
	}
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the journal cannot be read: %w", err)
	}
	readErr := r.readLines(out, found)
	cancel()
	if err := cmd.Wait(); err != nil && readErr == nil && ctx.Err() == nil {
		return fmt.Errorf("the journal cannot be read: journalctl: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return readErr
}

func (r *JournalReader) readLines(out io.Reader, found func(*event.Journal) error) error {
	suspended := Suspended()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxJournalLine)
	total := 0
	for lines.Scan() {
		e := parseJournalLine(lines.Bytes(), suspended)
		if e == nil {
			continue
		}
		if total += len(e.TailBytes()); r.Limit > 0 && total > r.Limit {
			return ErrJournalCut
		}
		if err := found(e); err != nil {
			return err
		}
	}
	return lines.Err()
}

// parseJournalLine reads an entry as journalctl -o json prints it. It returns nil for the kernel's, which
// come from its own log, and for what has no message.
func parseJournalLine(line []byte, suspended uint64) *event.Journal {
	var entry map[string]json.RawMessage
	if json.Unmarshal(line, &entry) != nil {
		return nil
	}
	text := func(name string) string { return journalText(entry[name]) }
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(text(name), 10, 64)
		return n
	}
	if entry["MESSAGE"] == nil || text("_TRANSPORT") == "kernel" {
		return nil
	}
	e := event.New(event.KindJournal).(*event.Journal)
	us := number("_SOURCE_MONOTONIC_TIMESTAMP") // when it was sent
	if us == 0 {
		us = number("__MONOTONIC_TIMESTAMP") // when it was received
	}
	e.Time, e.Realtime = fromMonotonic(us, suspended), number("__REALTIME_TIMESTAMP")*1000
	e.PID = uint32(number("_PID"))
	e.Priority = 6
	if entry["PRIORITY"] != nil {
		e.Priority = uint32(number("PRIORITY"))
	}
	unit, identifier, message := text("_SYSTEMD_UNIT"), text("SYSLOG_IDENTIFIER"), text("MESSAGE")
	if about := text("UNIT"); about != "" { // what systemd says of a unit is that unit's
		unit = about
	}
	if identifier == "" {
		identifier = text("_COMM")
	}
	e.SetTail(nulTerminated(unit, identifier, message[:min(len(message), maxJournalMessage)]))
	return e
}

// journalText reads a value: a string, an array of bytes for what is no text, or an array of strings for
// a field that is there several times, of which the first counts.
func journalText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var numbers []uint8
	if json.Unmarshal(raw, (*byteList)(&numbers)) == nil {
		return string(numbers)
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
		return journalText(several[0])
	}
	return ""
}

// byteList is read from an array of numbers; package json takes base64 for a []byte.
type byteList []uint8

func (b *byteList) UnmarshalJSON(raw []byte) error {
	var numbers []uint16
	if err := json.Unmarshal(raw, &numbers); err != nil {
		return err
	}
	for _, n := range numbers {
		*b = append(*b, byte(n))
	}
	return nil
}

// nulTerminated is a tail of strings. A NUL in one would end it early, so it becomes a blank.
func nulTerminated(list ...string) []byte {
	var b []byte
	for _, s := range list {
		b = append(append(b, strings.ReplaceAll(s, "\x00", " ")...), 0)
	}
	return b
}

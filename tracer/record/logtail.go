//go:build linux

package record

import (
	"bytes"
	"io"
	"os"
	"strings"
	"time"

	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/system"
)

// maxLogRead is how much of a log file is read in one round.
const maxLogRead = 1 << 20

// A logTail looks in a log file for a milestone's line. Lines of earlier boots in the same file are told
// by their time.
type logTail struct {
	sought *sought
	offset int64
	rest   []byte // of a line that isn't whole yet
	inode  os.FileInfo
}

// poll reads what came since the last time, and tells when the milestone was, if it was in that.
func (l *logTail) poll(wall *milestone.WallClock) (uint64, bool) {
	if l.sought.done {
		return 0, false
	}
	f, err := os.Open(l.sought.Path)
	if err != nil {
		return 0, false // not there yet
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || l.inode == nil || !os.SameFile(info, l.inode) || info.Size() < l.offset {
		l.inode, l.offset, l.rest = info, 0, nil // rotated
	}
	data, err := io.ReadAll(io.NewSectionReader(f, l.offset, maxLogRead))
	if err != nil || len(data) == 0 {
		return 0, false
	}
	l.offset += int64(len(data))
	data = append(l.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	l.rest = bytes.Clone(data[end:])
	return l.search(string(data[:end]), wall, system.BootTime())
}

func (l *logTail) search(text string, wall *milestone.WallClock, now uint64) (uint64, bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if !l.sought.Line.MatchString(line) {
			continue
		}
		stamp, err := l.sought.Stamp(line, time.Local, time.Now())
		if err != nil {
			continue
		}
		if at, ok := wall.ToBoot(stamp.UnixNano(), now); ok {
			return at, true
		}
	}
	return 0, false
}

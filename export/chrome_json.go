package export

import (
	"bufio"
	"io"
	"strconv"
)

// A chromeTrack is where spans are shown: a thread in a process, as Chrome calls them.
type chromeTrack struct{ pid, tid uint32 }

// chromeWriter writes trace events, one a line, as a JSON array. Its error stays once there is one.
type chromeWriter struct {
	w      *bufio.Writer
	origin uint64
	begun  bool
	line   []byte
	spare  args
	err    error
}

func newChromeWriter(w io.Writer, origin uint64) *chromeWriter {
	return &chromeWriter{w: bufio.NewWriterSize(w, 64<<10), origin: origin}
}

// args returns an empty object for the next event. It is reused: fill it for one event at a time.
func (c *chromeWriter) args() *args {
	c.spare.b = c.spare.b[:0]
	return &c.spare
}

// span writes a whole span.
func (c *chromeWriter) span(t chromeTrack, start, end uint64, name string, a *args) {
	c.begin(t, start, name, a)
	c.end(t, end)
}

func (c *chromeWriter) begin(t chromeTrack, at uint64, name string, a *args) {
	c.event('B', t)
	c.time(at)
	c.name(name)
	c.finish(a)
}

// end ends the span that was begun last on a track and hasn't ended.
func (c *chromeWriter) end(t chromeTrack, at uint64) {
	c.event('E', t)
	c.time(at)
	c.finish(&args{})
}

// instant marks a moment on a track: s is how far the mark reaches.
func (c *chromeWriter) instant(t chromeTrack, at uint64, name string, a *args) {
	c.event('i', t)
	c.time(at)
	c.name(name)
	c.line = append(c.line, `,"s":"t"`...)
	c.finish(a)
}

// state tells in which state a thread was.
func (c *chromeWriter) state(t chromeTrack, start, end uint64, name string, a *args) {
	c.event('T', t)
	c.time(start)
	c.line = appendMicros(append(c.line, `,"dur":`...), end-start)
	c.name(name)
	c.finish(a)
}

// flow begins or ends an arrow, at the span that encloses the moment. Both have the same id.
func (c *chromeWriter) flow(phase byte, t chromeTrack, at uint64, name string, id int64) {
	c.event(phase, t)
	c.time(at)
	c.name(name)
	c.line = strconv.AppendInt(append(c.line, `,"cat":"flow","id":`...), id, 10)
	if phase == 'f' {
		c.line = append(c.line, `,"bp":"e"`...)
	}
	c.finish(&args{})
}

// counter writes the values that a counter has from now on.
func (c *chromeWriter) counter(t chromeTrack, at uint64, name string, a *args) {
	c.event('C', t)
	c.time(at)
	c.name(name)
	c.finish(a)
}

// metadata says something of a track that has no time.
func (c *chromeWriter) metadata(t chromeTrack, name string, a *args) {
	c.event('M', t)
	c.name(name)
	c.finish(a)
}

func (c *chromeWriter) event(phase byte, t chromeTrack) {
	separator := "[\n"
	if c.begun {
		separator = ",\n"
	}
	c.begun = true
	c.line = append(c.line[:0], separator...)
	c.line = append(c.line, `{"ph":"`...)
	c.line = append(c.line, phase)
	c.line = strconv.AppendUint(append(c.line, `","pid":`...), uint64(t.pid), 10)
	c.line = strconv.AppendUint(append(c.line, `,"tid":`...), uint64(t.tid), 10)
}

func (c *chromeWriter) time(at uint64) {
	c.line = appendMicros(append(c.line, `,"ts":`...), at-min(at, c.origin))
}

func (c *chromeWriter) name(name string) {
	c.line = appendString(append(c.line, `,"name":`...), name)
}

func (c *chromeWriter) finish(a *args) {
	c.line = append(c.line, `,"args":{`...)
	c.line = append(append(c.line, a.b...), "}}"...)
	if c.err == nil {
		_, c.err = c.w.Write(c.line)
	}
}

func (c *chromeWriter) close() error {
	if c.err == nil {
		_, c.err = c.w.WriteString("\n]\n")
	}
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

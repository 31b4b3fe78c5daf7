//go:build linux

package record

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// dropEvery is how much is written before it is dropped from the page cache.
const dropEvery = 1 << 20

// behind is a file whose written parts are dropped from the page cache: the recorder must not take
// memory from the boot it watches. Nothing is forced to the disk and nothing waits for it.
type behind struct {
	file    *os.File
	written int64
	started int64 // write-back was started up to here
	dropped int64 // and the cache was dropped up to here
}

// newBehind returns a writer to output that drops what it wrote.
func newBehind(output *tracefile.Output) io.Writer { return &behind{file: output.File} }

func (b *behind) Write(p []byte) (int, error) {
	n, err := b.file.Write(p)
	b.written += int64(n)
	if b.written-b.started >= dropEvery {
		b.drop()
	}
	return n, err
}

// drop starts write-back of what is new and drops what was started the time before, which is clean
// by now. Errors don't matter: not every file is on a disk.
func (b *behind) drop() {
	fd := int(b.file.Fd())
	_ = unix.SyncFileRange(fd, b.started, b.written-b.started, unix.SYNC_FILE_RANGE_WRITE)
	_ = unix.Fadvise(fd, b.dropped, b.started-b.dropped, unix.FADV_DONTNEED)
	b.dropped, b.started = b.started, b.written
}

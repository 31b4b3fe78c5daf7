package tracefile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/bootscope/bootscope/tracer/event"
)

// A File is a trace file that is being read. It implements Source.
type File struct {
	r       io.ReaderAt
	size    int64
	name    string
	sync    uint64
	header  *Header
	trailer *Trailer
	decoder *event.Decoder
	sizes   sizeTable
	chunks  []chunk // with events, by the time of the earliest
	close   func() error

	mu       sync.Mutex
	problems map[Problem]bool // a set: whoever iterates again meets the same ones
}

// Open opens a trace file. "-" is standard input.
func Open(path string) (*File, error) {
	if path == "-" {
		return openStream(os.Stdin, "standard input")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return openStream(f, path)
}

// openStream opens a trace in f and closes f with it. What can't be read at any place, like a pipe, is
// copied first.
func openStream(f *os.File, name string) (*File, error) {
	closeFile := f.Close
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory, not a trace", name)
	}
	if err == nil && !info.Mode().IsRegular() {
		f, closeFile, err = spool(f)
	}
	if err == nil {
		info, err = f.Stat()
	}
	var t *File
	if err == nil {
		t, err = NewReader(f, info.Size(), name)
	}
	if err != nil {
		closeFile()
		return nil, err
	}
	t.close = closeFile
	return t, nil
}

// spool copies a stream into a temporary file, which ends when it is closed, and closes the stream.
func spool(in *os.File) (f *os.File, closeFile func() error, err error) {
	defer in.Close()
	f, err = os.CreateTemp("", "bootscope-*.bst")
	if err != nil {
		return nil, func() error { return nil }, err
	}
	closeFile = f.Close
	if os.Remove(f.Name()) != nil { // where an open file cannot be removed
		closeFile = func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }
	}
	_, err = io.Copy(f, in)
	return f, closeFile, err
}

// NewReader opens a trace of size bytes in r. name is for errors.
func NewReader(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{r: r, size: size, name: name, problems: map[Problem]bool{}, close: func() error { return nil }}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return f, nil
}

func (f *File) open() error {
	first := make([]byte, min(f.size, prologueSize))
	_, err := f.r.ReadAt(first, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if f.sync, err = parsePrologue(first); err != nil {
		return err
	}
	if err := f.index(); err != nil {
		return err
	}
	f.sizes = newSizeTable(f.header.Specs)
	f.decoder, err = event.NewDecoder(f.header.Specs)
	return err
}

// index finds every chunk and reads the header and the trailer.
func (f *File) index() error {
	for c := range f.walk() {
		switch c.Type {
		case chunkEvents, chunkSched:
			f.chunks = append(f.chunks, c)
		case chunkHeaderJSON:
			if f.header == nil {
				if err := f.readHeader(&c); err != nil {
					return fmt.Errorf("%w: its header at offset %d cannot be used: %w", ErrDamaged, c.offset, err)
				}
			}
		case chunkTrailerJSON:
			if err := f.readTrailer(&c); err != nil {
				f.problem(c.problem(fmt.Sprintf("the trailer cannot be used: %v", err)))
			}
		}
	}
	if f.header == nil {
		return fmt.Errorf("%w: its header, which should be at offset %d, is missing or cut off (the file has %d bytes)",
			ErrDamaged, prologueSize, f.size)
	}
	slices.SortStableFunc(f.chunks, func(a, b chunk) int { return cmp.Compare(a.Min, b.Min) })
	return nil
}

func (f *File) readHeader(c *chunk) error {
	raw, err := f.load(c)
	if err != nil {
		return err
	}
	f.header, err = parseHeader(raw)
	return err
}

func (f *File) readTrailer(c *chunk) error {
	raw, err := f.load(c)
	if err != nil {
		return err
	}
	t := &Trailer{}
	if err := json.Unmarshal(raw, t); err != nil {
		return err
	}
	f.trailer = t
	return nil
}

// Header implements Source.
func (f *File) Header() *Header { return f.header }

// Trailer implements Source.
func (f *File) Trailer() *Trailer { return f.trailer }

// Problems implements Source. Those in events are known only after iterating over them.
func (f *File) Problems() []Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Problem, 0, len(f.problems))
	for p := range f.problems {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
	return list
}

func (f *File) problem(p Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems[p] = true
}

// Size returns the bytes of the file.
func (f *File) Size() int64 { return f.size }

// Close closes the file.
func (f *File) Close() error { return f.close() }

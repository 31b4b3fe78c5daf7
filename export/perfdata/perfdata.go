// Package perfdata writes perf.data files, as `perf record` writes them: a header, the attributes of the
// events, the records, and sections that describe the machine and the events.
//
// It knows the file format (tools/perf/Documentation/perf.data-file-format.txt and the kernel's
// include/uapi/linux/perf_event.h). It must not know the trace that records are made from.
package perfdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var le = binary.LittleEndian

const (
	magic       = "PERFILE2" // read as a number by perf: little-endian data follows
	headerBytes = 104
	sectionSize = 16 // offset, size
	idBytes     = 8
)

// File is what a file holds besides its records.
type File struct {
	// Events are what records are samples of. The last one also stands for the records that are none (of
	// mappings, names, forks): readers that show one event show the last.
	Events []*Event
	// Formats are the layouts of the raw data of tracepoints.
	Formats []Format
	Info    Info
}

// Write writes a file. Its header tells the size of all records, and it comes first, so emit is called
// twice and must give the same records both times: the first time they are only measured. That needs
// neither an output that can be rewound nor a copy of it.
func (f *File) Write(w io.Writer, emit func(*Records) error) error {
	measured := f.newRecords(io.Discard)
	if err := measured.run(emit); err != nil {
		return err
	}
	if _, err := w.Write(f.begin(measured.size)); err != nil {
		return err
	}
	written := f.newRecords(w)
	if err := written.run(emit); err != nil {
		return err
	}
	if written.size != measured.size {
		return fmt.Errorf("the records have %d bytes, and had %d when they were measured", written.size, measured.size)
	}
	_, err := w.Write(f.features(f.dataOffset()+written.size, written))
	return err
}

// dataOffset is where the records begin.
func (f *File) dataOffset() uint64 {
	return headerBytes + uint64(len(f.Events))*(idBytes+attrBytes+sectionSize)
}

// begin returns the file up to the records: header, ids, attributes.
func (f *File) begin(dataSize uint64) []byte {
	n := uint64(len(f.Events))
	attrs := headerBytes + n*idBytes
	b := append(make([]byte, 0, f.dataOffset()), magic...)
	b = le.AppendUint64(b, headerBytes)
	b = le.AppendUint64(b, attrBytes+sectionSize)
	b = appendSection(b, attrs, n*(attrBytes+sectionSize))
	b = appendSection(b, f.dataOffset(), dataSize)
	b = appendSection(b, 0, 0) // event types: not used any more
	b = le.AppendUint64(b, f.featureBits())
	b = append(b, make([]byte, 24)...) // more feature bits
	for i := range f.Events {
		b = le.AppendUint64(b, f.id(i))
	}
	for i, e := range f.Events {
		b = e.append(b, i == len(f.Events)-1)
		b = appendSection(b, headerBytes+uint64(i)*idBytes, idBytes)
	}
	return b
}

// id is what records name an event by. It is not 0, which would be none.
func (f *File) id(event int) uint64 { return uint64(event) + 1 }

func appendSection(b []byte, offset, size uint64) []byte {
	return le.AppendUint64(le.AppendUint64(b, offset), size)
}

func (r *Records) run(emit func(*Records) error) error {
	err := emit(r)
	if r.err != nil { // it may be why emit ended
		return r.err
	}
	return errors.Join(err, r.out.Flush())
}

package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// perfFile is a perf.data file, read by its documentation and not by what wrote it.
type perfFile struct {
	data     []byte
	attrs    []perfAttr
	records  []perfRecord
	features map[int][]byte
}

type perfAttr struct {
	kind       uint32
	config     uint64
	sampleType uint64
	bits       uint64
	ids        []uint64
	name       string
}

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// readPerf reads a file and fails for anything that is not as it should be.
func readPerf(data []byte) (*perfFile, error) {
	if len(data) < 104 || string(data[:8]) != "PERFILE2" {
		return nil, fmt.Errorf("no header in %d bytes", len(data))
	}
	f := &perfFile{data: data, features: map[int][]byte{}}
	if size := u64(data[8:]); size != 104 {
		return nil, fmt.Errorf("header of %d bytes", size)
	}
	if types := u64(data[64:]); types != 0 {
		return nil, fmt.Errorf("event types of %d bytes", types)
	}
	end, err := f.section(data[40:])
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if err := f.readFeatures(u64(data[40:]) + uint64(len(end))); err != nil {
		return nil, err
	}
	if err := f.readAttrs(); err != nil {
		return nil, err
	}
	return f, f.readRecords(end)
}

// section returns what a pair of an offset and a size points to.
func (f *perfFile) section(b []byte) ([]byte, error) {
	offset, size := u64(b), u64(b[8:])
	if offset < 104 || offset > uint64(len(f.data)) || size > uint64(len(f.data))-offset {
		return nil, fmt.Errorf("section of %d bytes at %d in %d", size, offset, len(f.data))
	}
	return f.data[offset : offset+size], nil
}

func (f *perfFile) readAttrs() error {
	size := u64(f.data[16:])
	all, err := f.section(f.data[24:])
	if err != nil {
		return fmt.Errorf("attributes: %w", err)
	}
	if size < 64+16 || uint64(len(all))%size != 0 {
		return fmt.Errorf("%d bytes of attributes of %d bytes", len(all), size)
	}
	for ; len(all) > 0; all = all[size:] {
		if u32(all[4:]) != uint32(size-16) {
			return fmt.Errorf("attribute of %d bytes says %d", size-16, u32(all[4:]))
		}
		a := perfAttr{kind: u32(all), config: u64(all[8:]), sampleType: u64(all[24:]), bits: u64(all[40:])}
		ids, err := f.section(all[size-16:])
		if err != nil || len(ids) == 0 || len(ids)%8 != 0 {
			return fmt.Errorf("%d bytes of ids: %w", len(ids), err)
		}
		for ; len(ids) > 0; ids = ids[8:] {
			a.ids = append(a.ids, u64(ids))
		}
		f.attrs = append(f.attrs, a)
	}
	return f.readDescriptions(f.features[12], size-16)
}

// readDescriptions reads the names of the events. They must repeat the attributes and the ids.
func (f *perfFile) readDescriptions(b []byte, attrSize uint64) error {
	if len(b) < 8 || u32(b) != uint32(len(f.attrs)) || u64(b[:8])>>32 != attrSize {
		return errors.New("event descriptions don't fit the attributes")
	}
	b = b[8:]
	for i := range f.attrs {
		a := &f.attrs[i]
		if u32(b) != a.kind || u64(b[8:]) != a.config || u64(b[24:]) != a.sampleType {
			return fmt.Errorf("description of event %d differs from its attribute", i)
		}
		b = b[attrSize:]
		ids, size := u32(b), u32(b[4:])
		a.name, b = cText(b[8:8+size]), b[8+size:]
		if int(ids) != len(a.ids) {
			return fmt.Errorf("event %d has %d ids in its description", i, ids)
		}
		for _, id := range a.ids {
			if u64(b) != id {
				return fmt.Errorf("event %d has id %d in its description, not %d", i, u64(b), id)
			}
			b = b[8:]
		}
	}
	if len(b) != 0 {
		return fmt.Errorf("%d bytes after the event descriptions", len(b))
	}
	return nil
}

// readFeatures reads the sections after the records: they follow each other to the end of the file.
func (f *perfFile) readFeatures(table uint64) error {
	var numbers []int
	for i := range 256 {
		if f.data[72+i/8]>>(i%8)&1 != 0 {
			numbers = append(numbers, i)
		}
	}
	next := table + uint64(len(numbers))*16
	if next > uint64(len(f.data)) {
		return fmt.Errorf("no room for %d feature sections at %d", len(numbers), table)
	}
	for i, number := range numbers {
		entry := f.data[table+uint64(i)*16:]
		section, err := f.section(entry)
		if err != nil {
			return fmt.Errorf("feature %d: %w", number, err)
		}
		if u64(entry) != next {
			return fmt.Errorf("feature %d is at %d, not at %d", number, u64(entry), next)
		}
		next += uint64(len(section))
		f.features[number] = section
	}
	if next != uint64(len(f.data)) {
		return fmt.Errorf("features end at %d, the file at %d", next, len(f.data))
	}
	return nil
}

// feature returns a section that is one string.
func (f *perfFile) text(number int) string {
	b := f.features[number]
	if len(b) < 4 || int(u32(b)) != len(b)-4 {
		return fmt.Sprintf("feature %d is no string: %q", number, b)
	}
	return cText(b[4:])
}

func cText(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
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

// perfRecord is a record with the fields that its kind has.
type perfRecord struct {
	kind              uint32
	misc              uint16
	body              []byte // without the header and the sample id
	pid, tid          uint32
	time              uint64
	cpu               uint32
	attr              int
	ip, period        uint64
	raw               []byte
	ppid, ptid        uint32 // fork, exit
	comm              string
	start, length     uint64 // mapping
	offset            uint64
	buildID, filename string
	inode             uint64
	lost              uint64
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

func (f *perfFile) readRecords(b []byte) error {
	for at := 0; at < len(b); {
		if len(b)-at < 8 {
			return fmt.Errorf("%d bytes after the last record", len(b)-at)
		}
		size := int(u16(b[at+6:]))
		if size < 8 || size%8 != 0 || size > len(b)-at {
			return fmt.Errorf("record of %d bytes at %d of %d", size, at, len(b))
		}
		r, err := f.record(b[at : at+size])
		if err != nil {
			return fmt.Errorf("record at %d: %w", at, err)
		}
		f.records = append(f.records, r)
		at += size
	}
	return f.checkOrder()
}

// checkOrder: times don't go back, but for what has none; each fork is followed by the name.
func (f *perfFile) checkOrder() error {
	var last uint64
	for i := range f.records {
		r := &f.records[i]
		if r.kind == 68 {
			continue
		}
		if r.time < last {
			return fmt.Errorf("record %d goes back from %d to %d", i, last, r.time)
		}
		last = r.time
		if r.kind != 7 {
			continue
		}
		for i++; i < len(f.records) && f.records[i].kind == 68; i++ {
		}
		if i == len(f.records) || f.records[i].kind != 3 || f.records[i].tid != r.tid {
			return fmt.Errorf("fork of %d has no name after it", r.tid)
		}
	}
	return nil
}

func (f *perfFile) attrOf(id uint64) int {
	for i, a := range f.attrs {
		for _, own := range a.ids {
			if own == id {
				return i
			}
		}
	}
	return -1
}

func cText(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

// record reads one record.
func (f *perfFile) record(b []byte) (perfRecord, error) {
	r := perfRecord{kind: u32(b), misc: u16(b[4:]), body: b[8:]}
	switch r.kind {
	case 68: // end of a round
		return r, nil
	case 9:
		return r, f.sample(&r)
	}
	if len(r.body) < 32 {
		return r, fmt.Errorf("kind %d has no room for a sample id", r.kind)
	}
	id := r.body[len(r.body)-32:]
	r.body = r.body[:len(r.body)-32]
	r.pid, r.tid, r.time, r.cpu = u32(id), u32(id[4:]), u64(id[8:]), u32(id[16:])
	if r.attr = f.attrOf(u64(id[24:])); r.attr < 0 {
		return r, fmt.Errorf("kind %d has id %d of no event", r.kind, u64(id[24:]))
	}
	switch b := r.body; r.kind {
	case 1:
		r.pid, r.tid, r.start, r.length, r.offset = u32(b), u32(b[4:]), u64(b[8:]), u64(b[16:]), u64(b[24:])
		r.filename = cText(b[32:])
	case 2:
		r.attr, r.lost = f.attrOf(u64(b)), u64(b[8:])
	case 3:
		r.pid, r.tid, r.comm = u32(b), u32(b[4:]), cText(b[8:])
	case 4, 7:
		r.pid, r.ppid, r.tid, r.ptid = u32(b), u32(b[4:]), u32(b[8:]), u32(b[12:])
		if u64(b[16:]) != r.time {
			return r, fmt.Errorf("kind %d has two times, %d and %d", r.kind, u64(b[16:]), r.time)
		}
	case 10:
		r.pid, r.tid, r.start, r.length, r.offset = u32(b), u32(b[4:]), u64(b[8:]), u64(b[16:]), u64(b[24:])
		if r.misc&(1<<14) != 0 {
			r.buildID = string(b[36 : 36+b[32]])
		} else {
			r.inode = u64(b[40:])
		}
		r.filename = cText(b[64:])
	default:
		return r, fmt.Errorf("unexpected kind %d", r.kind)
	}
	return r, nil
}

// sample reads a sample by its attribute's sample_type, which must give all of it.
func (f *perfFile) sample(r *perfRecord) error {
	b := r.body
	if r.attr = f.attrOf(u64(b)); r.attr < 0 {
		return fmt.Errorf("sample has id %d of no event", u64(b))
	}
	const ip, tid, time, cpu, period, raw, identifier = 1, 2, 4, 1 << 7, 1 << 8, 1 << 10, 1 << 16
	kind, b := f.attrs[r.attr].sampleType, b[8:]
	if kind|raw != ip|tid|time|cpu|period|raw|identifier {
		return fmt.Errorf("sample type %#x", kind)
	}
	r.ip, r.pid, r.tid, r.time, r.cpu, r.period = u64(b), u32(b[8:]), u32(b[12:]), u64(b[16:]), u32(b[24:]), u64(b[32:])
	b = b[40:]
	if kind&raw != 0 {
		size := u32(b)
		r.raw, b = b[4:4+size], b[4+size:]
	}
	if len(b) != 0 {
		return fmt.Errorf("%d bytes after a sample", len(b))
	}
	return nil
}

// String lists a file: a line for what describes it, a line for each record.
func (f *perfFile) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "release %s, arch %s, tool %s\n", f.text(4), f.text(6), f.text(5))
	for _, a := range f.attrs {
		fmt.Fprintf(&b, "event %s: type %d config %d sample_type %#x bits %#x ids %v\n", a.name, a.kind, a.config, a.sampleType, a.bits, a.ids)
	}
	for i := range f.records {
		fmt.Fprintln(&b, f.line(&f.records[i]))
	}
	return b.String()
}

func (f *perfFile) line(r *perfRecord) string {
	head := fmt.Sprintf("%d.%09d [%03d] %d/%d", r.time/1e9, r.time%1e9, r.cpu, r.pid, r.tid)
	switch r.kind {
	case 1, 10:
		return fmt.Sprintf("%s map misc %#x %#x+%#x offset %#x inode %d build id %x %q", head, r.misc, r.start, r.length, r.offset, r.inode, r.buildID, r.filename)
	case 2:
		return fmt.Sprintf("%s lost %d of %s", head, r.lost, f.attrs[r.attr].name)
	case 3:
		return fmt.Sprintf("%s comm misc %#x %q", head, r.misc, r.comm)
	case 4, 7:
		return fmt.Sprintf("%s %s misc %#x of %d/%d", head, map[uint32]string{4: "exit", 7: "fork"}[r.kind], r.misc, r.ppid, r.ptid)
	case 9:
		if len(r.raw) == 0 {
			return fmt.Sprintf("%s %s misc %#x ip %#x period %d", head, f.attrs[r.attr].name, r.misc, r.ip, r.period)
		}
		return fmt.Sprintf("%s %s %s", head, f.attrs[r.attr].name, rawLine(f.attrs[r.attr].name, r.raw))
	}
	return "end of a round"
}

// rawLine shows the raw data of a tracepoint.
func rawLine(name string, b []byte) string {
	switch name {
	case "sched:sched_switch":
		return fmt.Sprintf("%q %d state %#x => %q %d", cText(b[8:24]), u32(b[24:]), u64(b[32:]), cText(b[40:56]), u32(b[56:]))
	case "sched:sched_waking", "sched:sched_wakeup":
		return fmt.Sprintf("%q %d cpu %d", cText(b[8:24]), u32(b[24:]), int32(u32(b[32:])))
	}
	return fmt.Sprintf("%q %d ran %d", cText(b[8:24]), u32(b[24:]), u64(b[32:]))
}

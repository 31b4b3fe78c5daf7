package export

import (
	"fmt"
	"strings"
)

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

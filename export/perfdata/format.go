package perfdata

import (
	"fmt"
	"strings"
)

// A Format is the layout of a tracepoint's raw data, as tracefs prints it in events/SYSTEM/NAME/format.
// The data begins with what all tracepoints have; see AppendCommon.
type Format struct {
	System, Name string
	ID           uint16
	Fields       []Field
	Print        string // format and arguments
}

// A Field is a field of a format.
type Field struct {
	Declaration string // in C
	Size        int
	Signed      bool
}

// commonFields begin all raw data.
var commonFields = []Field{
	{"unsigned short common_type", 2, false},
	{"unsigned char common_flags", 1, false},
	{"unsigned char common_preempt_count", 1, false},
	{"int common_pid", 4, true},
}

// AppendCommon appends the begin of raw data: the format's id, and the thread.
func (f *Format) AppendCommon(b []byte, tid uint32) []byte {
	b = le.AppendUint16(b, f.ID)
	b = le.AppendUint16(b, 0) // flags and preemption count
	return le.AppendUint32(b, tid)
}

// text is the format as tracefs prints it. Each field follows the one before: they must be in an order
// that needs no padding.
func (f *Format) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nID: %d\nformat:\n", f.Name, f.ID)
	offset := writeFields(&b, commonFields, 0)
	b.WriteByte('\n')
	writeFields(&b, f.Fields, offset)
	fmt.Fprintf(&b, "\nprint fmt: %s\n", f.Print)
	return b.String()
}

func writeFields(b *strings.Builder, fields []Field, offset int) int {
	for _, field := range fields {
		signed := 0
		if field.Signed {
			signed = 1
		}
		fmt.Fprintf(b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", field.Declaration, offset, field.Size, signed)
		offset += field.Size
	}
	return offset
}

// tracingData is the section that describes tracepoints: what trace-cmd calls the file of version 0.6,
// up to its data.
func (f *File) tracingData() []byte {
	b := append([]byte{0x17, 0x08, 0x44}, "tracing0.6\x00"...)
	b = append(b, 0, 8) // little-endian, a long has 8 bytes
	b = le.AppendUint32(b, uint32(f.Info.PageSize))
	b = appendBlock(append(b, "header_page\x00"...), headerPage(f.Info.PageSize))
	b = appendBlock(append(b, "header_event\x00"...), headerEvent)
	b = le.AppendUint32(b, 0) // formats of ftrace's own events
	b = f.appendFormats(b)
	b = le.AppendUint32(b, 0)    // bytes of kallsyms
	b = le.AppendUint32(b, 0)    // bytes of printk's formats
	return le.AppendUint64(b, 0) // bytes of the names of tasks
}

// appendFormats appends the formats by system, in the order in which systems appear.
func (f *File) appendFormats(b []byte) []byte {
	var systems []string
	bySystem := map[string][]*Format{}
	for i := range f.Formats {
		system := f.Formats[i].System
		if bySystem[system] == nil {
			systems = append(systems, system)
		}
		bySystem[system] = append(bySystem[system], &f.Formats[i])
	}
	b = le.AppendUint32(b, uint32(len(systems)))
	for _, system := range systems {
		b = append(append(b, system...), 0)
		b = le.AppendUint32(b, uint32(len(bySystem[system])))
		for _, format := range bySystem[system] {
			b = appendBlock(b, format.text())
		}
	}
	return b
}

func appendBlock(b []byte, text string) []byte {
	return append(le.AppendUint64(b, uint64(len(text))), text...)
}

// headerPage and headerEvent describe the ring buffer that ftrace keeps such data in. There is none
// here, but readers look for them.
func headerPage(pageSize int) string {
	return fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"+
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"+
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"+
		"\tfield: char data;\toffset:16;\tsize:%d;\tsigned:0;\n", pageSize-16)
}

const headerEvent = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n" +
	"\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n" +
	"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"

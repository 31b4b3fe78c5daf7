package perfdata

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestWriteChanged: the header would be wrong if the records were others the second time.
func TestWriteChanged(t *testing.T) {
	f := &File{Events: []*Event{{Name: "cpu-clock", Type: TypeSoftware}}}
	times := 0
	err := f.Write(&bytes.Buffer{}, func(r *Records) error {
		for range times {
			r.Comm(&When{}, "once", false)
		}
		times++
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "and had 0 when they were measured") {
		t.Errorf("got error %v", err)
	}
}

func TestWriteEmitError(t *testing.T) {
	cut := errors.New("the trace is cut")
	f := &File{Events: []*Event{{Name: "cpu-clock", Type: TypeSoftware}}}
	if err := f.Write(&bytes.Buffer{}, func(*Records) error { return cut }); !errors.Is(err, cut) {
		t.Errorf("got error %v, want %v", err, cut)
	}
}

// TestNames: what is too long for readers, or has a NUL in it.
func TestNames(t *testing.T) {
	tests := []struct{ name, path, want string }{
		{"short", "/a", "/a\x00"},
		{"longest", "/" + strings.Repeat("a", 4094), "/" + strings.Repeat("a", 4094) + "\x00"},
		{"too long", "/" + strings.Repeat("a", 4095), "//toolong\x00"},
		{"NUL", "/a\x00b", "/a\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			f := &File{Events: []*Event{{Name: "cpu-clock", Type: TypeSoftware}}}
			err := f.Write(&b, func(r *Records) error {
				r.Mapping(&When{PID: 1, TID: 1}, &Mapping{Path: tt.path, BuildID: bytes.Repeat([]byte{7}, 30)})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			record := b.Bytes()[f.dataOffset():]
			if size := int(le.Uint16(record[6:])); size%8 != 0 || !bytes.HasPrefix(record[72:size-32], []byte(tt.want)) {
				t.Errorf("record of %d bytes with %q", size, record[72:size-32])
			}
			if record[40] != 20 {
				t.Errorf("build id of %d bytes", record[40])
			}
		})
	}
}

// TestFormat compares with what tracefs prints for a format of these fields.
func TestFormat(t *testing.T) {
	f := Format{System: "sched", Name: "sched_process_hang", ID: 369, Print: `"comm=%s pid=%d", REC->comm, REC->pid`,
		Fields: []Field{{"char comm[16]", 16, false}, {"pid_t pid", 4, true}}}
	const want = `name: sched_process_hang
ID: 369
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;

print fmt: "comm=%s pid=%d", REC->comm, REC->pid
`
	if got := f.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	raw := f.AppendCommon(nil, 1234)
	if want := []byte{0x71, 1, 0, 0, 0xd2, 4, 0, 0}; !bytes.Equal(raw, want) {
		t.Errorf("common part % x, want % x", raw, want)
	}
}

// TestTracepointSize: whatever the size of its data, a record's is a multiple of 8 bytes.
func TestTracepointSize(t *testing.T) {
	for n := range 20 {
		var b bytes.Buffer
		f := &File{Events: []*Event{{Name: "a:b", Type: TypeTracepoint, Config: 1}}}
		raw := bytes.Repeat([]byte{9}, n)
		if err := f.Write(&b, func(r *Records) error { r.Tracepoint(&When{}, 0, raw); return nil }); err != nil {
			t.Fatal(err)
		}
		record := b.Bytes()[f.dataOffset():]
		size, rawSize := int(le.Uint16(record[6:])), int(le.Uint32(record[56:]))
		if size%8 != 0 || size != 60+rawSize || rawSize < n || !bytes.Equal(record[60:60+n], raw) {
			t.Errorf("%d bytes: record of %d, raw of %d", n, size, rawSize)
		}
	}
}

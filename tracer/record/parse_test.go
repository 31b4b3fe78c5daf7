//go:build linux

package record

import (
	"bytes"
	"encoding/binary"
	"maps"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// switchFormat is what tracefs says of sched_switch, as of Linux 6.18.
const switchFormat = `name: sched_switch
ID: 248
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;

print fmt: "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm
`

func TestParseFormat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       formatFields
	}{
		{"a real one", switchFormat, formatFields{
			"common_type": 0, "common_flags": 2, "common_preempt_count": 3, "common_pid": 4,
			"prev_comm": 8, "prev_pid": 24, "prev_prio": 28, "prev_state": 32,
			"next_comm": 40, "next_pid": 56, "next_prio": 60,
		}},
		{"a string whose place is told", "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n", formatFields{"filename": 8}},
		{"of a pointer type", "\tfield:const char * name;\toffset:16;\tsize:8;\tsigned:0;\n", formatFields{"name": 16}},
		{"nothing", "", formatFields{}},
		{"nonsense", "field:;\nfield:x\nfield:int y;\tsize:4;\n\nfield\n;offset:3;\n", formatFields{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseFormat(tt.text); !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestExplainCapabilities(t *testing.T) {
	const all = "CapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n"
	effective := func(bits ...uint) string {
		var set uint64
		for _, b := range bits {
			set |= 1 << b
		}
		return "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t" + string(appendHex(set)) + "\n"
	}
	for _, tt := range []struct {
		name, status string
		want         string // the beginning of the message; "" if nothing is missing
	}{
		{"root", all, ""},
		{"CAP_SYS_ADMIN alone, as before 5.8", effective(21), ""},
		{"what is needed and no more", effective(38, 39), ""},
		{"nothing", effective(), "recording needs CAP_BPF and CAP_PERFMON: run it as root (sudo), or"},
		{"one of two", effective(39), "recording needs CAP_PERFMON: run"},
		{"permitted but not effective", "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000000000\n", "recording needs CAP_BPF and"},
		{"not told", "Name:\tx\n", "recording needs CAP_BPF and"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := explainCapabilities(tt.status)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func appendHex(n uint64) []byte {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[i] = digits[n>>(60-4*i)&15]
	}
	return b
}

func TestRingLockFixed(t *testing.T) {
	for _, tt := range []struct {
		release, version string
		want             bool
	}{
		{"6.12.0", "#1 SMP PREEMPT_RT", true},
		{"6.12", "", true},
		{"6.11.9-rt5", "", false},
		{"6.1.114-rt40", "", false},
		{"6.1.115-rt43-yocto", "", true},
		{"6.1.0-50-rt-amd64", "#1 SMP PREEMPT_RT Debian 6.1.192-3 (2026-11-20)", true},
		{"6.1.0-9-rt-amd64", "#1 SMP PREEMPT_RT Debian 6.1.27-1 (2023-05-08)", false},
		{"5.10.0-32-rt-amd64", "#1 SMP PREEMPT_RT Debian 5.10.223-1 (2024-08-10)", false},
		{"7.0.0-rc1", "", true},
		{"5.100.1", "", false},
		{"strange", "", false},
		{"", "", false},
	} {
		if got := ringLockFixed(tt.release, tt.version); got != tt.want {
			t.Errorf("%q, %q: %v, want %v", tt.release, tt.version, got, tt.want)
		}
	}
}

func TestRingLockSleeps(t *testing.T) {
	for lock, want := range map[string]bool{"spinlock_t": true, "raw_spinlock_t": false, "rqspinlock_t": false} {
		ring := &btf.Struct{Name: "bpf_ringbuf", Size: 4, Members: []btf.Member{
			{Name: "spinlock", Type: &btf.Typedef{Name: lock, Type: &btf.Int{Name: "int", Size: 4}}},
		}}
		if got := ringLockSleeps(typesWith(t, ring)); got != want {
			t.Errorf("a lock of type %s sleeps: %v, want %v", lock, got, want)
		}
	}
}

// switchTypes makes kernel types with a sched_switch of these parameters.
func switchTypes(t *testing.T, parameters ...btf.Type) *btf.Spec {
	t.Helper()
	proto := &btf.FuncProto{Return: &btf.Void{}}
	for _, p := range parameters {
		proto.Params = append(proto.Params, btf.FuncParam{Type: p})
	}
	helpers := &btf.Enum{Name: "bpf_func_id", Size: 4, Values: []btf.EnumValue{{Name: "BPF_FUNC_task_pt_regs", Value: 175}}}
	return typesWith(t, &btf.Typedef{Name: "btf_trace_sched_switch", Type: &btf.Pointer{Target: proto}}, helpers)
}

// typesWith makes kernel types of these.
func typesWith(t *testing.T, types ...btf.Type) *btf.Spec {
	t.Helper()
	b, err := btf.NewBuilder(types, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// The arguments of sched_switch have changed: reading the wrong one as a state would be nonsense.
func TestSwitchStateIndex(t *testing.T) {
	data, task := &btf.Pointer{Target: &btf.Void{}}, &btf.Pointer{Target: &btf.Struct{Name: "task_struct", Size: 8}}
	preempt, state := &btf.Int{Name: "bool", Size: 1, Encoding: btf.Bool}, &btf.Int{Name: "unsigned int", Size: 4}
	for _, tt := range []struct {
		name       string
		parameters []btf.Type
		want       int
	}{
		{"since 5.18", []btf.Type{data, preempt, task, task, state}, 3},
		{"before", []btf.Type{data, preempt, task, task}, 0},
		{"with the state in the middle, as in 5.18's first candidates", []btf.Type{data, preempt, state, task, task}, 0},
		{"with one argument more", []btf.Type{data, preempt, task, task, state, state}, 0},
	} {
		if got := switchStateIndex(switchTypes(t, tt.parameters...)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	types := switchTypes(t)
	if !hasHelper(types, "BPF_FUNC_task_pt_regs") || hasHelper(types, "BPF_FUNC_other") {
		t.Error("the helpers that a kernel has are not told apart from others")
	}
}

func TestDecodePerfRecord(t *testing.T) {
	le := binary.LittleEndian
	record := func(kind uint32, misc uint16, body []byte) []byte {
		b := le.AppendUint16(le.AppendUint16(le.AppendUint32(nil, kind), misc), uint16(8+len(body)+sampleIDBytes))
		b = append(b, body...)
		b = le.AppendUint64(b, 77<<32|78) // tid and pid of who was current
		b = le.AppendUint64(b, 5_000_000_000)
		return le.AppendUint64(b, 1) // CPU
	}
	words := func(values ...uint64) (b []byte) {
		for _, v := range values {
			b = le.AppendUint64(b, v)
		}
		return b
	}
	place := words(6<<32|5, 0x7f0000001000, 0x2000, 0x3000) // tid and pid, start, length, offset
	rights := words(2<<32 | 5)                              // flags, protection
	name := append([]byte("/usr/lib/libx.so"), 0, 0, 0, 0, 0, 0, 0, 0)
	inode := words(1<<32|8, 4711, 9) // minor and major, inode, generation
	id := append([]byte{20, 0, 0, 0}, "0123456789abcdefghij"...)

	reader := &mappingReader{} // one for all: nothing of a mapping is in the next
	m := reader.decode(record(unix.PERF_RECORD_MMAP2, 0, join(place, inode, rights, name)), 1).(*event.Mapping)
	if m.PID != 5 || m.TID != 6 || m.Time != 5_000_000_000 || m.CPU != 1 || m.Start != 0x7f0000001000 || m.Length != 0x2000 ||
		m.Offset != 0x3000 || m.Device != 8<<20|1 || m.Inode != 4711 || m.Protection != 5 || m.MapFlags != 2 || m.BuildIDBytes != 0 ||
		string(m.TailBytes()) != "/usr/lib/libx.so" {
		t.Errorf("a mapping by inode is %+v with name %q", m, m.TailBytes())
	}
	m = reader.decode(record(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID, join(place, id, rights, name)), 0).(*event.Mapping)
	if m.Inode != 0 || string(m.BuildID[:m.BuildIDBytes]) != "0123456789abcdefghij" {
		t.Errorf("a mapping by build id is %+v", m)
	}
	l := reader.decode(record(unix.PERF_RECORD_LOST, 0, words(1, 42)), 1).(*event.Lost)
	if l.Count != 42 || l.Time != 5_000_000_000 || event.Probe(l.Probe) != event.ProbeMapping {
		t.Errorf("a loss is %+v", l)
	}
	for _, other := range [][]byte{record(unix.PERF_RECORD_COMM, 0, place), record(unix.PERF_RECORD_MMAP2, 0, place)} {
		if e := reader.decode(other, 0); e != nil {
			t.Errorf("a record that is no mapping, or is cut, is %+v", e)
		}
	}
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

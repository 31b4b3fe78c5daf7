package bpf

import (
	"debug/elf"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/bootscope/bootscope/tracer/event"
)

// objects are the committed files, of both architectures.
var objects = []string{"core_x86_bpfel.o", "core_arm64_bpfel.o", "plain_x86_bpfel.o", "plain_arm64_bpfel.o"}

func load(t *testing.T, object string) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpec(object)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestSpecsComeFromObjects derives the specs of all events from each object's types, without the
// generator, and compares them with those that are compiled in.
func TestSpecsComeFromObjects(t *testing.T) {
	for _, object := range objects {
		t.Run(object, func(t *testing.T) {
			types := load(t, object).Types
			var union *btf.Union
			if err := types.TypeByName("event", &union); err != nil {
				t.Fatal(err)
			}
			kinds := enumValues(t, types, "event_kind")
			derived := map[event.Kind]event.Spec{}
			for _, m := range union.Members {
				s, ok := m.Type.(*btf.Struct)
				if !ok || s.Name == "event_header" {
					continue
				}
				name := strings.TrimPrefix(s.Name, "event_")
				kind, ok := kinds["KIND_"+strings.ToUpper(name)]
				if !ok {
					t.Errorf("struct %s has no kind", s.Name)
				}
				derived[event.Kind(kind)] = event.Spec{
					Kind: event.Kind(kind), Name: name, Size: int(s.Size), Fields: fieldsOf(t, s, 0),
				}
			}
			compareSpecs(t, derived)
		})
	}
}

// fieldsOf lists a struct's fields; those of the header in it come first.
func fieldsOf(t *testing.T, s *btf.Struct, base int) (fields []event.Field) {
	t.Helper()
	for _, m := range s.Members {
		at := base + int(m.Offset.Bytes())
		if header, ok := m.Type.(*btf.Struct); ok {
			fields = append(fields, fieldsOf(t, header, at)...)
			continue
		}
		f := event.Field{Name: m.Name, Offset: at}
		element := m.Type
		if array, ok := element.(*btf.Array); ok {
			element, f.Count = array.Type, int(array.Nelems)
		}
		if named, ok := element.(*btf.Typedef); ok {
			f.Type = strings.TrimLeft(named.Name, "_")
		}
		integer, ok := btf.UnderlyingType(element).(*btf.Int)
		if !ok {
			t.Fatalf("%s.%s is no integer", s.Name, m.Name)
		}
		f.Size, f.Signed = int(integer.Size), integer.Encoding == btf.Signed
		fields = append(fields, f)
	}
	return fields
}

// compareSpecs compares specs with those that are compiled in.
func compareSpecs(t *testing.T, derived map[event.Kind]event.Spec) {
	t.Helper()
	for _, want := range event.Specs {
		got, ok := derived[want.Kind]
		if !ok {
			t.Errorf("event %s is not in the object", want.Name)
			continue
		}
		delete(derived, want.Kind)
		if got.Name != want.Name || got.Size != want.Size || len(got.Fields) != len(want.Fields) {
			t.Errorf("event %s: the object has %q of %d bytes with %d fields; compiled in are %d bytes with %d fields",
				want.Name, got.Name, got.Size, len(got.Fields), want.Size, len(want.Fields))
			continue
		}
		for i, f := range want.Fields {
			f.Doc = "" // BTF has no comments
			if got.Fields[i] != f {
				t.Errorf("event %s, field %d: the object has %+v, compiled in is %+v", want.Name, i, got.Fields[i], f)
			}
		}
	}
	for _, s := range derived {
		t.Errorf("event %s of the object is not compiled in: make generate", s.Name)
	}
}

func enumValues(t *testing.T, types *btf.Spec, name string) map[string]uint64 {
	t.Helper()
	var enum *btf.Enum
	if err := types.TypeByName(name, &enum); err != nil {
		t.Fatal(err)
	}
	values := map[string]uint64{}
	for _, v := range enum.Values {
		values[v.Name] = v.Value
	}
	return values
}

// TestEnumsComeFromObjects compares the names of what is counted and told by number.
func TestEnumsComeFromObjects(t *testing.T) {
	for _, object := range objects {
		types := load(t, object).Types
		for name, prefix := range map[string]string{"probe_id": "PROBE_", "event_kind": "KIND_", "task_state": "STATE_", "lost_reason": "LOST_"} {
			for constant, value := range enumValues(t, types, name) {
				var got string
				switch name {
				case "probe_id":
					got = event.Probe(value).String()
				case "event_kind":
					got = event.Kind(value).String()
				case "task_state":
					got = event.TaskState(value).String()
				case "lost_reason":
					got = event.LostReason(value).String()
				}
				if want := strings.ToLower(strings.TrimPrefix(constant, prefix)); got != want {
					t.Errorf("%s: %s is %q in Go, want %q", object, constant, got, want)
				}
			}
		}
	}
}

// TestArchitecturesAreAlike: what an object of one architecture can do, that of the other can.
func TestArchitecturesAreAlike(t *testing.T) {
	for _, kind := range []string{"core", "plain"} {
		x86, arm := load(t, kind+"_x86_bpfel.o"), load(t, kind+"_arm64_bpfel.o")
		if a, b := slices.Sorted(maps.Keys(x86.Programs)), slices.Sorted(maps.Keys(arm.Programs)); !slices.Equal(a, b) {
			t.Errorf("%s: programs %v on x86, %v on arm64", kind, a, b)
		}
		if a, b := slices.Sorted(maps.Keys(x86.Maps)), slices.Sorted(maps.Keys(arm.Maps)); !slices.Equal(a, b) {
			t.Errorf("%s: maps %v on x86, %v on arm64", kind, a, b)
		}
		for name, p := range x86.Programs {
			// Functions of the system call table are called after their architecture.
			p.SectionName = strings.Replace(p.SectionName, "/__x64_sys_", "/__arm64_sys_", 1)
			if q := arm.Programs[name]; q != nil && (p.Type != q.Type || p.SectionName != q.SectionName || p.License != "Dual BSD/GPL") {
				t.Errorf("%s: program %s is %v in %s under %q, on arm64 %v in %s", kind, name, p.Type, p.SectionName, p.License, q.Type, q.SectionName)
			}
		}
	}
}

// TestInstructions: the plain objects must load where there are no types to relocate against, and no object
// may use atomics that return a value, which arm64's JIT lacks before 5.18.
func TestInstructions(t *testing.T) {
	for _, object := range objects {
		for name, p := range load(t, object).Programs {
			for i, ins := range p.Instructions {
				if strings.HasPrefix(object, "plain") && btf.CORERelocationMetadata(&ins) != nil {
					t.Errorf("%s: program %s, instruction %d needs relocation against the kernel's types: %v", object, name, i, ins)
				}
				if isFetchingAtomic(ins.OpCode) {
					t.Errorf("%s: program %s, instruction %d is an atomic that returns a value: %v", object, name, i, ins)
				}
			}
		}
	}
}

// TestObjectsHaveNoDWARF: they are part of the binary, and debuggers have no use for it there.
func TestObjectsHaveNoDWARF(t *testing.T) {
	for _, object := range objects {
		f, err := elf.Open(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Sections {
			if strings.HasPrefix(s.Name, ".debug_") {
				t.Errorf("%s has section %s of %d bytes", object, s.Name, s.Size)
			}
		}
		f.Close()
	}
}

// TestWordsAreDecoded packs words by the constants of sched.h, as the programs do, and decodes them.
func TestWordsAreDecoded(t *testing.T) {
	text, err := os.ReadFile("sched.h")
	if err != nil {
		t.Fatal(err)
	}
	constant := func(name string) uint64 {
		m := regexp.MustCompile(`(?m)^#define ` + name + ` (\d+)`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("sched.h has no %s", name)
		}
		n, _ := strconv.ParseUint(string(m[1]), 10, 64)
		return n
	}
	types := load(t, "core_x86_bpfel.o").Types
	states := enumValues(t, types, "task_state")
	const start = 123_456_789_000 // nanoseconds
	word := func(kind, tid, state, syscall, ns uint64) uint64 {
		return kind<<61 | tid<<constant("WORD_TID_SHIFT") | state<<constant("WORD_STATE_SHIFT") |
			syscall<<constant("WORD_SYSCALL_SHIFT") | ns>>3&(1<<27-1)
	}
	d := event.SchedDecoder{CPU: 3}
	if e := d.Next(2<<61 | start>>3); e != nil {
		t.Errorf("a time word is %+v", e)
	}
	if e := d.Next(3<<61 | 3<<56 | 41); e != nil { // NOTE_CURRENT
		t.Errorf("a note of who runs is %+v", e)
	}
	s, ok := d.Next(word(0, 4_194_303, states["STATE_IO_WAIT"], 257, start+8)).(*event.Switch)
	if !ok || s.Time != start+8 || s.TID != 41 || s.Next != 4_194_303 || event.TaskState(s.State) != event.StateIoWait || s.Syscall != 257 || s.CPU != 3 {
		t.Errorf("a switch is %+v", s)
	}
	// Over the end of the time's 27 bits.
	w, ok := d.Next(word(1, 42, 0, constant("WORD_NO_SYSCALL"), start+1_000_000_000)).(*event.Waking)
	if !ok || w.Time != start+1_000_000_000 || w.TID != 4_194_303 || w.Target != 42 {
		t.Errorf("a waking is %+v", w)
	}
	lost, ok := d.Next(3<<61 | 1<<56 | 1_000_000).(*event.Lost) // NOTE_LOST
	if !ok || lost.Count != 1_000_000 || event.Probe(lost.Probe) != event.ProbeSched || event.LostReason(lost.Reason) != event.LostFull {
		t.Errorf("a note of losses is %+v", lost)
	}
}

// isFetchingAtomic tells whether an instruction is an atomic one that returns the old value.
func isFetchingAtomic(op asm.OpCode) bool {
	const fetch = asm.FetchAdd &^ asm.AddAtomic
	atomic := op.AtomicOp()
	return atomic != asm.InvalidAtomic && atomic&fetch != 0
}

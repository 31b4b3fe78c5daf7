//go:build linux

package record

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/bootscope/bootscope/bpf"
	"github.com/bootscope/bootscope/tracer/event"
)

// loaders read the built-in objects.
var loaders = map[string]func() (*ebpf.CollectionSpec, error){"core": bpf.LoadCore, "plain": bpf.LoadPlain}

func loadObject(t *testing.T, kind objectKind) *ebpf.CollectionSpec {
	t.Helper()
	load := loaders["core"]
	if kind == plainObject {
		load = loaders["plain"]
	}
	spec, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// fits tells whether a program can be attached in a way: its type, and what its section says of the place.
func fits(p *ebpf.ProgramSpec, h hook, object objectKind) bool {
	switch h.attach {
	case attachTracing:
		return p.Type == ebpf.Tracing
	case attachKretprobe:
		return p.Type == ebpf.Kprobe
	case attachSysExit:
		return h.wants != 0 && (object == coreObject && p.Type == ebpf.Tracing || object == plainObject && p.Type == ebpf.RawTracepoint)
	case attachTracepoint:
		return p.Type == ebpf.TracePoint && p.SectionName == "tracepoint/"+h.target
	case attachMajorFault, attachSample:
		return p.Type == ebpf.PerfEvent
	}
	return false
}

// TestWays checks the table of probes against the objects: each way has its programs, each program has its
// place in the table, and without BTF no probe needs what isn't there.
func TestWays(t *testing.T) {
	objects := map[objectKind]*ebpf.CollectionSpec{coreObject: loadObject(t, coreObject), plainObject: loadObject(t, plainObject)}
	used := map[objectKind]map[string]bool{coreObject: {iteratorProgram: true}, plainObject: {}}
	seen := map[event.Probe]bool{}
	for _, p := range probes {
		if seen[p.id] {
			t.Errorf("probe %v is in the table twice", p.id)
		}
		seen[p.id] = true
		for _, w := range p.ways {
			if w.via == "" || w.status == "" {
				t.Errorf("probe %v has a way without a name or a status: %+v", p.id, w)
			}
			for _, h := range w.programs {
				if h.attach == attachMappings {
					continue // needs no program
				}
				program := objects[w.object].Programs[h.program]
				if program == nil {
					t.Errorf("probe %v via %s: the object has no program %q", p.id, w.via, h.program)
					continue
				}
				used[w.object][h.program] = true
				if !fits(program, h, w.object) {
					t.Errorf("probe %v via %s: program %s is %v in %s, which can't be attached so", p.id, w.via, h.program, program.Type, program.SectionName)
				}
			}
		}
	}
	for id := range event.ProbeCount {
		if !seen[id] {
			t.Errorf("probe %v is not in the table", id)
		}
	}
	for kind, object := range objects {
		for name := range object.Programs {
			if !used[kind][name] {
				t.Errorf("no probe uses program %s of object %d", name, kind)
			}
		}
	}
}

// TestSchedComesLast: attaching the other probes would else be recorded switch by switch.
func TestSchedComesLast(t *testing.T) {
	if last := probes[len(probes)-1].id; last != event.ProbeSched {
		t.Errorf("the last probe is %v", last)
	}
}

// TestTracepointFields compares the table of fields with the struct that tells the programs where they are.
func TestTracepointFields(t *testing.T) {
	short := map[string]string{
		"sched_switch": "switch", "sched_waking": "waking", "task_newtask": "fork", "sched_process_exec": "exec",
		"task_rename": "rename", "cpu_frequency": "cpufreq", "mm_filemap_add_to_page_cache": "page", "mm_vmscan_memcg_reclaim_end": "reclaim",
	}
	for name, load := range loaders {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		var s *btf.Struct
		if err := spec.Types.TypeByName("tracepoint_offsets", &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Members) != len(tracepointFields) {
			t.Fatalf("%s: %d offsets, %d fields in the table", name, len(s.Members), len(tracepointFields))
		}
		for i, m := range s.Members {
			_, tracepoint, _ := strings.Cut(tracepointFields[i].tracepoint, "/")
			if prefix, ok := short[tracepoint]; !ok || !strings.HasPrefix(m.Name, prefix+"_") || int(m.Offset.Bytes()) != 4*i {
				t.Errorf("%s: offset %s has the place of field %s of %s", name, m.Name, tracepointFields[i].field, tracepoint)
			}
		}
	}
}

// TestVariables: each variable that the loader sets is in the object.
func TestVariables(t *testing.T) {
	for _, name := range []string{"want_args", "wake_reader_at", "signal_from_sched", "offsets"} {
		for object, load := range loaders {
			spec, err := load()
			if err != nil {
				t.Fatal(err)
			}
			if spec.Variables[name] == nil {
				t.Errorf("object %s has no variable %s", object, name)
			}
		}
	}
	if err := set(loadObject(t, plainObject), map[string]any{"no_such_variable": uint32(1)}); err == nil {
		t.Error("a variable that isn't there was set")
	}
}

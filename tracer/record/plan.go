//go:build linux

package record

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// A plan is all that loading needs and that is the same at each start on one kernel: what the BPF objects
// hold, and programs with the kernel's offsets filled in. To find it out, the kernel's types are parsed, which
// is most of a start's CPU time and memory. So it is kept, see plancache.go.
type plan struct {
	Facts   kernelFacts
	Objects [2]*objectPlan // by objectKind; nil: not made yet

	types   *btf.Spec                 // the kernel's, nil if they weren't needed
	specs   [2]*ebpf.CollectionSpec   // objects, where they had to be parsed
	changed bool                      // since it was read
	open    func() (*btf.Spec, error) // the kernel's types
}

// kernelFacts are what the kernel's types say of the kernel.
type kernelFacts struct {
	TaskPtRegs  bool // the helper bpf_task_pt_regs (5.15)
	Loop        bool // the helper bpf_loop (5.17)
	RdonlyCast  bool // the function bpf_rdonly_cast (6.2)
	SwitchState int  // index of prev_state among sched_switch's arguments (5.18), or 0

	RingLockSleeps bool // on PREEMPT_RT
}

// An objectPlan is an object's maps and variables, and those of its programs that were needed so far.
type objectPlan struct {
	Maps      []mapPlan
	Variables []variablePlan
	Programs  map[string]*programPlan
}

type mapPlan struct {
	Name                               string
	Type                               ebpf.MapType
	KeySize, ValueSize, Entries, Flags uint32
	Content                            []byte // of a section with variables
}

type variablePlan struct {
	Name, Section string
	Offset        uint32
	Value         []byte
}

// kernelTypes parses the kernel's types, once.
func (p *plan) kernelTypes() (*btf.Spec, error) {
	if p.types != nil {
		return p.types, nil
	}
	var err error
	p.types, err = p.open()
	return p.types, err
}

// spec parses an object, once.
func (p *plan) spec(kind objectKind) (*ebpf.CollectionSpec, error) {
	if p.specs[kind] != nil {
		return p.specs[kind], nil
	}
	load := loadCore
	if kind == plainObject {
		load = loadPlain
	}
	spec, err := load()
	if err != nil {
		return nil, fmt.Errorf("reading the built-in BPF object: %w", err)
	}
	if !p.Facts.Loop {
		forgetCallbacks(spec)
	}
	p.specs[kind] = spec
	return spec, nil
}

// object returns the plan of an object's maps and variables.
func (p *plan) object(kind objectKind) (*objectPlan, error) {
	if p.Objects[kind] != nil {
		return p.Objects[kind], nil
	}
	spec, err := p.spec(kind)
	if err != nil {
		return nil, err
	}
	o := &objectPlan{Programs: map[string]*programPlan{}}
	for _, name := range slices.Sorted(maps.Keys(spec.Maps)) {
		m := spec.Maps[name]
		planned := mapPlan{name, m.Type, m.KeySize, m.ValueSize, m.MaxEntries, m.Flags, nil}
		if len(m.Contents) > 0 {
			planned.Content, _ = m.Contents[0].Value.([]byte)
		}
		o.Maps = append(o.Maps, planned)
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Variables)) {
		v := spec.Variables[name]
		o.Variables = append(o.Variables, variablePlan{name, v.SectionName, v.Offset, v.Value})
	}
	p.Objects[kind], p.changed = o, true
	return o, nil
}

// collection is what the maps are created from. They get no types: nobody would read them.
func (o *objectPlan) collection() *ebpf.CollectionSpec {
	spec := &ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{}, Variables: map[string]*ebpf.VariableSpec{}}
	for _, m := range o.Maps {
		spec.Maps[m.Name] = &ebpf.MapSpec{Name: m.Name, Type: m.Type, KeySize: m.KeySize, ValueSize: m.ValueSize,
			MaxEntries: m.Entries, Flags: m.Flags}
		if m.Content != nil {
			spec.Maps[m.Name].Contents = []ebpf.MapKV{{Key: uint32(0), Value: m.Content}}
		}
	}
	for _, v := range o.Variables {
		spec.Variables[v.Name] = &ebpf.VariableSpec{Name: v.Name, SectionName: v.Section, Offset: v.Offset, Value: slices.Clone(v.Value)}
	}
	return spec
}

// program returns the plan of a program.
func (p *plan) program(kind objectKind, name string) (*programPlan, error) {
	o, err := p.object(kind)
	if err != nil {
		return nil, err
	}
	if planned := o.Programs[name]; planned != nil {
		return planned, nil
	}
	spec, err := p.spec(kind)
	if err != nil {
		return nil, err
	}
	if spec.Programs[name] == nil {
		return nil, fmt.Errorf("the BPF object has no program %s", name)
	}
	planned, err := p.planProgram(spec.Programs[name])
	if err != nil { // it will fail the next time too
		planned = &programPlan{Name: name, Problem: err.Error()}
	}
	o.Programs[name], p.changed = planned, true
	return planned, nil
}

// forget drops what was needed for making the plan only: several MB.
func (p *plan) forget() {
	if p.types != nil || p.specs != [2]*ebpf.CollectionSpec{} {
		p.types, p.specs = nil, [2]*ebpf.CollectionSpec{}
		debug.FreeOSMemory()
	}
}

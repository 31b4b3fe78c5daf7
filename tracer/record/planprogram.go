//go:build linux

package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// A programPlan is a program with everything filled in but the maps' descriptors.
type programPlan struct {
	Name         string
	Type         ebpf.ProgramType
	Attach       ebpf.AttachType
	License      string
	Target       btf.TypeID // what it is attached to, in the kernel's types; 0: the program doesn't say
	Instructions []byte
	Maps         []mapUse
	Types        []byte // its own, where it has more than one function
	Functions    []byte // where they begin
	Problem      string // why it can't be loaded on this kernel
}

// A mapUse is a place among the instructions that wants a map's descriptor.
type mapUse struct {
	At  uint32 // counted in instructions of 8 bytes
	Map string
}

// planProgram fits a program to the kernel's types.
func (p *plan) planProgram(spec *ebpf.ProgramSpec) (*programPlan, error) {
	planned := &programPlan{Name: spec.Name, Type: spec.Type, Attach: spec.AttachType, License: spec.License}
	instructions := slices.Clone(spec.Instructions)
	types := &btf.Builder{}
	if err := p.relocate(instructions, types); err != nil {
		return nil, err
	}
	if err := p.resolveCalls(instructions); err != nil {
		return nil, err
	}
	if spec.Type == ebpf.Tracing {
		var err error
		if planned.Target, err = p.target(spec); err != nil {
			return nil, err
		}
	}
	if err := planned.addTypes(instructions, types); err != nil {
		return nil, err
	}
	for i := instructions.Iterate(); i.Next(); {
		if i.Ins.IsLoadFromMap() && i.Ins.Reference() != "" {
			planned.Maps = append(planned.Maps, mapUse{uint32(i.Offset), i.Ins.Reference()})
		}
	}
	var code bytes.Buffer
	if err := instructions.Marshal(&code, binary.LittleEndian); err != nil {
		return nil, err
	}
	planned.Instructions = code.Bytes()
	return planned, nil
}

// relocate puts the kernel's offsets in (CO-RE).
func (p *plan) relocate(instructions asm.Instructions, own *btf.Builder) error {
	var relocations []*btf.CORERelocation
	var places []*asm.Instruction
	for i := instructions.Iterate(); i.Next(); {
		if r := btf.CORERelocationMetadata(i.Ins); r != nil {
			relocations, places = append(relocations, r), append(places, i.Ins)
		}
	}
	if len(relocations) == 0 {
		return nil
	}
	types, err := p.kernelTypes()
	if err != nil {
		return err
	}
	// Only the kernel's own: what the programs look at is in no module, whose types would be parsed, too.
	fixups, err := btf.CORERelocate(relocations, []*btf.Spec{types}, binary.LittleEndian, own.Add)
	if err != nil {
		return err
	}
	for i := range fixups {
		if err := fixups[i].Apply(places[i]); err != nil {
			return fmt.Errorf("%s: %w", relocations[i], err)
		}
	}
	return nil
}

// resolveCalls puts in the numbers of the kernel's functions that are called (kfuncs). Where the kernel has none of the
// name, the call is in a branch that is not taken, but even there it must be one that the verifier knows of.
func (p *plan) resolveCalls(instructions asm.Instructions) error {
	for i := range instructions {
		in := &instructions[i]
		if !in.IsKfuncCall() {
			continue
		}
		if !p.Facts.RdonlyCast {
			*in = asm.FnGetSmpProcessorId.Call().WithMetadata(in.Metadata)
			continue
		}
		types, err := p.kernelTypes()
		if err != nil {
			return err
		}
		var function *btf.Func
		if err := types.TypeByName(rdonlyCast, &function); err != nil {
			return err
		}
		id, err := types.TypeID(function)
		if err != nil {
			return err
		}
		in.Constant, in.Offset = int64(id), 0
	}
	return nil
}

// target finds what a program wants to be attached to.
func (p *plan) target(spec *ebpf.ProgramSpec) (btf.TypeID, error) {
	types, err := p.kernelTypes()
	if err != nil {
		return 0, err
	}
	if spec.AttachType == ebpf.AttachTraceRawTp {
		var place *btf.Typedef
		if err := types.TypeByName("btf_trace_"+spec.AttachTo, &place); err != nil {
			return 0, fmt.Errorf("it has no %s: %w", spec.AttachTo, err)
		}
		return types.TypeID(place)
	}
	name := spec.AttachTo
	if spec.AttachType == ebpf.AttachTraceIter {
		name = "bpf_iter_" + name
	}
	// A system call that can be left out of a kernel is there twice: what stands in for it is called the same.
	same, err := types.AnyTypesByName(name)
	if err != nil {
		return 0, fmt.Errorf("it has no %s: %w", name, err)
	}
	for _, t := range same {
		if function, ok := t.(*btf.Func); ok {
			return types.TypeID(function)
		}
	}
	return 0, fmt.Errorf("it has no function %s", name)
}

// addTypes tells where functions begin. The verifier wants to know that only of programs with several.
// Lines of source are left out: they take the kernel time and are of use for who writes programs only.
func (planned *programPlan) addTypes(instructions asm.Instructions, types *btf.Builder) (err error) {
	functions := 0
	for i := range instructions {
		instructions[i] = instructions[i].WithSource(nil)
		if btf.FuncMetadata(&instructions[i]) != nil {
			functions++
		}
	}
	if functions < 2 && types.Empty() {
		return nil
	}
	if planned.Functions, _, err = btf.MarshalExtInfos(instructions, types); err != nil {
		return err
	}
	planned.Types, err = types.Marshal(nil, btf.KernelMarshalOptions())
	return err
}

// forgetCallbacks takes the addresses of functions out of the programs. Kernels without bpf_loop, which is
// what they are for, refuse them even where the verifier sees that they aren't used.
func forgetCallbacks(spec *ebpf.CollectionSpec) {
	for _, p := range spec.Programs {
		for i := range p.Instructions {
			if in := &p.Instructions[i]; in.IsLoadOfFunctionPointer() {
				in.Src, in.Constant = asm.R0, 0
			}
		}
	}
}

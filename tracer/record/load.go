//go:build linux

package record

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// A loader loads single programs of the two objects around one set of maps.
type loader struct {
	kernel   kernelFeatures
	options  Options
	shared   map[string]*ebpf.Map // the maps that both objects have
	objects  [2]*object
	sysExits [2]*sysExit // by object, where in use
}

// An object is a BPF object whose maps exist and whose programs can be loaded one by one.
type object struct {
	spec *ebpf.CollectionSpec
	maps *ebpf.Collection // its maps, without programs
}

func newLoader(kernel kernelFeatures, options Options) *loader {
	return &loader{kernel: kernel, options: options, shared: map[string]*ebpf.Map{}}
}

func (l *loader) close() {
	for _, o := range l.objects {
		if o != nil {
			o.maps.Close()
		}
	}
}

// program loads one program of an object.
func (l *loader) program(kind objectKind, name string) (*ebpf.Program, error) {
	o, err := l.object(kind)
	if err != nil {
		return nil, err
	}
	spec := &ebpf.CollectionSpec{
		Maps:      o.spec.Maps,
		Programs:  map[string]*ebpf.ProgramSpec{name: o.spec.Programs[name]},
		Types:     o.spec.Types,
		ByteOrder: o.spec.ByteOrder,
	}
	loaded, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: o.maps.Maps, Cache: l.kernel.types})
	if err != nil {
		return nil, explainLoad(name, err)
	}
	program := loaded.DetachProgram(name)
	loaded.Close()
	return program, nil
}

// explainLoad shortens the verifier's log to its end, where the reason is.
func explainLoad(name string, err error) error {
	if errors.Is(err, unix.EPERM) { // the library blames the limit of locked memory, which is lifted
		return fmt.Errorf("the kernel refuses program %s: %w", name, unix.EPERM)
	}
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) {
		return fmt.Errorf("the kernel refuses program %s: %-4v", name, refused)
	}
	return fmt.Errorf("loading program %s: %w", name, err)
}

func (l *loader) object(kind objectKind) (*object, error) {
	if l.objects[kind] != nil {
		return l.objects[kind], nil
	}
	load, configure := loadCore, l.configureCore
	if kind == plainObject {
		load, configure = loadPlain, l.configurePlain
	}
	spec, err := load()
	if err != nil {
		return nil, fmt.Errorf("reading the built-in BPF object: %w", err)
	}
	if err := errors.Join(l.configure(spec), configure(spec)); err != nil {
		return nil, err
	}
	if !l.kernel.loop {
		forgetCallbacks(spec)
	}
	o := &object{spec: spec}
	// Maps of the other object serve this one too, where both have them.
	replacements := map[string]*ebpf.Map{}
	for name, m := range l.shared {
		if spec.Maps[name] != nil {
			replacements[name] = m
		}
	}
	o.maps, err = ebpf.NewCollectionWithOptions(
		&ebpf.CollectionSpec{Maps: spec.Maps, Variables: spec.Variables, Types: spec.Types, ByteOrder: spec.ByteOrder},
		ebpf.CollectionOptions{MapReplacements: replacements, Cache: l.kernel.types})
	if err != nil {
		return nil, fmt.Errorf("creating BPF maps: %w", err)
	}
	for name, m := range o.maps.Maps {
		if name[0] != '.' { // .rodata and .bss are an object's own
			l.shared[name] = m
		}
	}
	l.objects[kind] = o
	return o, nil
}

// configure sets what both objects must know.
func (l *loader) configure(spec *ebpf.CollectionSpec) error {
	possible, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("counting CPUs: %w", err)
	}
	ring := ringBufferBytes(l.options.BufferBytes)
	spec.Maps["sched_rings"].MaxEntries = uint32(possible)
	spec.Maps["events"].MaxEntries = ring
	return set(spec, map[string]any{
		"want_args":         flag(!l.options.NoArgs),
		"wake_reader_at":    ring / 4,
		"signal_from_sched": flag(l.kernel.rtRingOK),
		"has_loop":          flag(l.kernel.loop),
	})
}

func (l *loader) configureCore(spec *ebpf.CollectionSpec) error {
	if l.kernel.types == nil {
		return l.kernel.noTypes
	}
	// Without tracefs only what needs it is off: attaching will say so.
	return errors.Join(set(spec, map[string]any{
		"tell_wakers":      flag(l.options.Idle),
		"has_task_pt_regs": flag(l.kernel.taskPtRegs),
		"switch_state_arg": uint32(l.kernel.switchState),
		"thread_size":      uint32(max(16384, os.Getpagesize())),
	}), setOffsets(spec, false))
}

// configurePlain insists on the fields without which the object's first programs make no sense.
func (l *loader) configurePlain(spec *ebpf.CollectionSpec) error {
	return setOffsets(spec, true)
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

func set(spec *ebpf.CollectionSpec, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v, ok := spec.Variables[name]
		if !ok {
			return fmt.Errorf("the BPF object has no variable %s", name)
		}
		if err := v.Set(values[name]); err != nil {
			return fmt.Errorf("setting %s in the BPF object: %w", name, err)
		}
	}
	return nil
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// ringBufferBytes rounds up to what a ring buffer may have: a power of two, and whole pages.
func ringBufferBytes(want int) uint32 {
	size := max(os.Getpagesize(), 1<<16)
	for size < want && size < 1<<30 {
		size *= 2
	}
	return uint32(size)
}

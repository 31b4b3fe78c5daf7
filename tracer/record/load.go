//go:build linux

package record

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A loader loads single programs of the two objects around one set of maps.
type loader struct {
	kernel   kernelFeatures
	options  Options
	shared   map[string]*ebpf.Map // the maps that both objects have
	objects  [2]*object
	sysExits [2]*sysExit   // by object, where in use
	loading  time.Duration // CPU time of loading programs, most of which is the verifier's
}

// An object is a BPF object whose maps exist and whose programs can be loaded one by one.
type object struct {
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
	planned, err := l.kernel.plan.program(kind, name)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := threadCPU()
	program, err := planned.load(o.maps.Maps)
	l.loading += threadCPU() - begin
	if err != nil && planned.Type == ebpf.Tracing && !hasOwnTypes() { // they came by --btf
		return nil, fmt.Errorf("%w (the kernel checks this program by its own BTF, and has none)", err)
	}
	return program, err
}

// threadCPU is the CPU time of the thread that calls.
func threadCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

func (l *loader) object(kind objectKind) (*object, error) {
	if l.objects[kind] != nil {
		return l.objects[kind], nil
	}
	if kind == coreObject && l.kernel.noTypes != nil {
		return nil, l.kernel.noTypes
	}
	planned, err := l.kernel.plan.object(kind)
	if err != nil {
		return nil, err
	}
	spec := planned.collection()
	configure := l.configureCore
	if kind == plainObject {
		configure = l.configurePlain
	}
	if err := errors.Join(l.configure(spec), configure(spec)); err != nil {
		return nil, err
	}
	o := &object{}
	// Maps of the other object serve this one too, where both have them.
	replacements := map[string]*ebpf.Map{}
	for name, m := range l.shared {
		if spec.Maps[name] != nil {
			replacements[name] = m
		}
	}
	o.maps, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: replacements})
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
		"has_loop":          flag(l.kernel.plan.Facts.Loop),
	})
}

func (l *loader) configureCore(spec *ebpf.CollectionSpec) error {
	// Without tracefs only what needs it is off: attaching will say so.
	return errors.Join(set(spec, map[string]any{
		"tell_wakers":      flag(l.options.Idle),
		"has_task_pt_regs": flag(l.kernel.plan.Facts.TaskPtRegs),
		"has_rdonly_cast":  flag(l.kernel.plan.Facts.RdonlyCast),
		"switch_state_arg": uint32(l.kernel.plan.Facts.SwitchState),
		"thread_size":      uint32(max(16384, os.Getpagesize())),
	}), setOffsets(spec, false))
}

// configurePlain insists on the fields without which the object's first programs make no sense.
func (l *loader) configurePlain(spec *ebpf.CollectionSpec) error {
	return setOffsets(spec, true)
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

//go:build linux

package record

import (
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// kernelFeatures is what the programs must be told about the running kernel. Everything is read
// from what is there, not concluded from the version, except where a bug was fixed in one.
type kernelFeatures struct {
	release  string
	plan     *plan    // how the objects are loaded on it
	planKey  *planKey // nil: the plan is not to be kept
	noTypes  error    // why its types aren't known
	badFile  error    // the same, if it is --btf's fault
	rtRingOK bool     // the ring buffer may be used where the kernel can't sleep: see ringLockSleeps
}

func readKernel(options Options) kernelFeatures {
	var uname unix.Utsname
	_ = unix.Uname(&uname) // fails for bad addresses only
	k := kernelFeatures{release: unix.ByteSliceToString(uname.Release[:]), plan: &plan{}}
	_, err := os.Stat("/sys/kernel/realtime") // newer ones have no such file, and need not be asked
	realtime := err == nil
	k.rtRingOK = !realtime || ringLockFixed(k.release, unix.ByteSliceToString(uname.Version[:]))
	if options.NoBTF {
		k.noTypes = fmt.Errorf("BTF is not used, as asked for by --no-btf")
		return k
	}
	if options.BTF == "" && len(options.Cache) > 0 {
		if key, err := newPlanKey(options.Tool); err == nil {
			k.planKey = &key
			if kept := readPlan(key, options.Cache...); kept != nil {
				k.plan = kept
			}
		}
	}
	k.plan.open = func() (*btf.Spec, error) { return openTypes(options.BTF) }
	if k.plan.Objects[coreObject] == nil { // else it was made from them
		types, err := k.plan.kernelTypes()
		if err != nil {
			k.noTypes = err
			if options.BTF != "" {
				k.badFile = err
			}
			return k
		}
		k.plan.Facts = readFacts(types)
	}
	k.rtRingOK = !realtime || !k.plan.Facts.RingLockSleeps
	return k
}

// keepPlan keeps what this start has found out for the next one, if there is a place for it.
func (k *kernelFeatures) keepPlan(cache []string) {
	if k.planKey != nil && k.plan.changed {
		k.plan.changed = k.plan.keep(*k.planKey, cache[0]) != nil
	}
}

func readFacts(types *btf.Spec) kernelFacts {
	return kernelFacts{
		TaskPtRegs:  hasOwnTypes() && hasHelper(types, "BPF_FUNC_task_pt_regs"), // it returns what the kernel has a type of
		Loop:        hasHelper(types, "BPF_FUNC_loop"),
		RdonlyCast:  hasOwnTypes() && hasFunction(types, rdonlyCast),
		SwitchState: switchStateIndex(types),

		RingLockSleeps: ringLockSleeps(types),
	}
}

func hasHelper(types *btf.Spec, name string) bool {
	var helpers *btf.Enum
	if types.TypeByName("bpf_func_id", &helpers) != nil {
		return false
	}
	for _, v := range helpers.Values {
		if v.Name == name {
			return true
		}
	}
	return false
}

// rdonlyCast is the one function of the kernel that the programs call.
const rdonlyCast = "bpf_rdonly_cast"

func hasFunction(types *btf.Spec, name string) bool {
	var function *btf.Func
	return types.TypeByName(name, &function) == nil
}

// switchStateIndex looks for prev_state as the last argument of sched_switch: (preempt, prev, next,
// prev_state) since 9c2136be0878 of 5.18. Arguments count from 0 as the program sees them.
func switchStateIndex(types *btf.Spec) int {
	var handler *btf.Typedef
	if types.TypeByName("btf_trace_sched_switch", &handler) != nil {
		return 0
	}
	pointer, ok := handler.Type.(*btf.Pointer)
	if !ok {
		return 0
	}
	proto, ok := pointer.Target.(*btf.FuncProto)
	if !ok || len(proto.Params) != 5 { // the first is the tracepoint's own data
		return 0
	}
	if _, ok := btf.UnderlyingType(proto.Params[4].Type).(*btf.Int); !ok {
		return 0
	}
	return 3
}

// ringLockSleeps tells whether the ring buffer's lock is one that sleeps on PREEMPT_RT. A program that waits for it in
// an interrupt crashes the kernel, and one on a tracepoint makes it complain. 8b62645b09f8 made it another kind, in
// 6.12 and in stable releases.
func ringLockSleeps(types *btf.Spec) bool {
	var ring *btf.Struct
	if types.TypeByName("bpf_ringbuf", &ring) != nil {
		return true
	}
	for _, m := range ring.Members {
		if m.Name == "spinlock" {
			return m.Type.TypeName() == "spinlock_t"
		}
	}
	return true
}

// ringLockFixed tells the same where there are no types, of the releases whose logs of changes have it.
func ringLockFixed(release, version string) bool {
	if _, debian, ok := strings.Cut(version, "Debian "); ok {
		release = debian // in its releases the third number is another
	}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(release, "%d.%d.%d", &major, &minor, &patch); n < 2 {
		return false
	}
	return major > 6 || major == 6 && (minor >= 12 || minor == 1 && patch >= 115)
}

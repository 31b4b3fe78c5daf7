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
	release     string
	types       *btf.Cache // the kernel's BTF, parsed once; nil without
	noTypes     error      // why types is nil
	taskPtRegs  bool       // the helper bpf_task_pt_regs (5.15)
	loop        bool       // the helper bpf_loop (5.17)
	switchState int        // index of prev_state among sched_switch's arguments (5.18), or 0
	rtRingOK    bool       // the ring buffer may be used where the kernel can't sleep: see ringLockSleeps
}

func readKernel(ignoreBTF bool) kernelFeatures {
	var uname unix.Utsname
	_ = unix.Uname(&uname) // fails for bad addresses only
	k := kernelFeatures{release: unix.ByteSliceToString(uname.Release[:])}
	_, err := os.Stat("/sys/kernel/realtime") // newer ones have no such file, and need not be asked
	realtime := err == nil
	k.rtRingOK = !realtime || ringLockFixed(k.release, unix.ByteSliceToString(uname.Version[:]))
	if ignoreBTF {
		k.noTypes = fmt.Errorf("BTF is not used, as asked for by --no-btf")
		return k
	}
	cache := btf.NewCache()
	types, err := cache.Kernel()
	if err != nil {
		k.noTypes = fmt.Errorf("no usable BTF (CONFIG_DEBUG_INFO_BTF): %w", err)
		return k
	}
	k.types = cache
	k.taskPtRegs = hasHelper(types, "BPF_FUNC_task_pt_regs")
	k.loop = hasHelper(types, "BPF_FUNC_loop")
	k.switchState = switchStateIndex(types)
	k.rtRingOK = !realtime || !ringLockSleeps(types)
	return k
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

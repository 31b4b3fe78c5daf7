//go:build linux

package record

import (
	"fmt"
	"os"

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
	realtime    bool       // PREEMPT_RT
	rtRingOK    bool       // the ring buffer's lock may be taken where a PREEMPT_RT kernel can't sleep (6.12)
}

func readKernel(ignoreBTF bool) kernelFeatures {
	k := kernelFeatures{release: unameRelease()}
	_, err := os.Stat("/sys/kernel/realtime")
	k.realtime = err == nil
	k.rtRingOK = !k.realtime || atLeast(k.release, 6, 12)
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

func unameRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// atLeast compares the first two numbers of a kernel release.
func atLeast(release string, major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(release, "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

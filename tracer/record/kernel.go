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

// tracefsDir returns where tracefs is, mounting it in its usual place if it is nowhere.
func tracefsDir() (string, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/events"); err == nil {
			return dir, nil
		}
	}
	const usual = "/sys/kernel/tracing"
	if err := unix.Mount("tracefs", usual, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return "", fmt.Errorf("tracefs is not mounted, and mounting it at %s: %w", usual, err)
	}
	return usual, nil
}

// A tracepoint's fields, from its format file.
type formatFields map[string]int // name to offset

func readFormat(tracefs, tracepoint string) (formatFields, error) {
	path := tracefs + "/events/" + tracepoint + "/format"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseFormat(string(text)), nil
}

// parseFormat reads lines such as "field:pid_t prev_pid;	offset:24;	size:4;	signed:1;".
func parseFormat(text string) formatFields {
	fields := formatFields{}
	for _, line := range strings.Split(text, "\n") {
		declaration, rest, ok := strings.Cut(strings.TrimSpace(line), ";")
		if !ok || !strings.HasPrefix(declaration, "field:") {
			continue
		}
		words := strings.Fields(declaration)
		name, _, _ := strings.Cut(words[len(words)-1], "[")
		var offset int
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "offset:%d;", &offset); err == nil {
			fields[name] = offset
		}
	}
	return fields
}

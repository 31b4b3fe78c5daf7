//go:build vmtest

package vmtest

import "testing"

// TestSleepingRingLock records on a PREEMPT_RT kernel from before the ring buffer's lock was made one that spins.
// What would have to wait for it where the kernel can't sleep is off: with all of it on this kernel panicked within
// a minute, in a sample that came while an open was written. What is left works, and the kernel stays well.
func TestSleepingRingLock(t *testing.T) {
	g := guest{arch: "amd64", kernel: "5.10", variant: "rt", suite: "bullseye", python: "3.9", image: "linux-image-rt-amd64"}
	program, err := programs[g.arch]()
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, g, map[string][]byte{"usr/bin/bootscope": program, "modes": modesFile(g)})
	for mode, expected := range map[string]map[string]string{
		"best": {
			"sched": "tp_btf", "open": "fexit/do_sys_openat2", "sync": "fexit/sys_fsync", "socket": "fexit/__sys_connect",
			"mapping": "perf/mmap2",
		},
		"no-btf": {"sched": "tracepoint", "mapping": "perf/mmap2"},
	} {
		t.Run(mode, func(t *testing.T) { checkProbes(t, r, mode, expected, "PREEMPT_RT") })
	}
	checkKernelLog(t, string(r.results["dmesg"]))
}

//go:build linux

package record

import (
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepToOneCPU makes the recorder wake no CPU but the one that it is on: while any goroutine runs, Go's
// monitor thread looks after it every 20 us or so, and its workers wake one another, each on an idle CPU
// if there is one. The returned function ends that.
func keepToOneCPU() (undo func()) {
	var all unix.CPUSet
	if unix.SchedGetaffinity(0, &all) != nil || !stayOnThisCPU() {
		return func() {}
	}
	workers := runtime.GOMAXPROCS(1)
	return func() {
		setAffinity(&all)
		runtime.GOMAXPROCS(workers)
	}
}

// stayOnThisCPU keeps all threads to the CPU that this one is on.
func stayOnThisCPU() bool {
	var cpu uint32
	_, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if errno != 0 {
		return false
	}
	var one unix.CPUSet
	one.Set(int(cpu))
	setAffinity(&one)
	return true
}

// setAffinity gives all threads of this process the same CPUs. Threads that come later inherit them.
func setAffinity(cpus *unix.CPUSet) {
	for _, tid := range ownThreads() {
		_ = unix.SchedSetaffinity(tid, cpus) // one that has just ended needs none
	}
}

func ownThreads() (tids []int) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

//go:build linux && kerneltest

package record_test

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// legacyCalls are those that only older architectures have.
func (o *opener) legacyCalls() {
	name := o.dir + "/legacy"
	pointer := must1(unix.BytePtrFromString(name))
	call := func(about, path string, number, argument uintptr, flags uint32) {
		fd, _, errno := unix.Syscall(number, uintptr(unsafe.Pointer(pointer)), argument, anyMode)
		if opened := o.note(about, name, path, flags, fd, errno); opened >= 0 {
			must(unix.Close(opened))
		}
	}
	call("open that fails", name, unix.SYS_OPEN, unix.O_RDONLY, unix.O_RDONLY)
	call("creat", "", unix.SYS_CREAT, anyMode, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	call("open", "", unix.SYS_OPEN, unix.O_RDWR|unix.O_APPEND, unix.O_RDWR|unix.O_APPEND)
	runtime.KeepAlive(pointer)
}

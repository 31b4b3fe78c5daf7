//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A step is an open call that the load made. Names are bytes, since they need not be UTF-8.
type step struct {
	About     string
	Name      []byte // as it was given to the kernel
	Path      []byte // where it leads from the root, as /proc/self/fd or the one who wrote the test knows it
	Result    int    // a descriptor, or a negative errno
	Flags     uint32
	Inode     uint64 // of a success, from fstat
	Device    uint64
	Namespace uint64 // of the mounts
}

// opener makes open calls and notes them. It makes no others in its first thread.
type opener struct {
	dir   string
	steps []step
}

const (
	noPath  = "\x00no path" // of what has none
	anyMode = 0o644
)

// openSteps is what is opened, in order, in an empty directory.
var openSteps = newLoad("open-steps", func(args []string) []step {
	o := &opener{dir: args[0]}
	o.open("the beginning", "/the/beginning", unix.O_RDONLY, "/the/beginning")
	for _, f := range []func(){
		o.simple, o.relative, o.otherCalls, o.failures, o.pathless, o.renamed, o.hostile, o.mounts, o.chroot, o.long, o.cold,
	} {
		must(unix.Chdir(o.dir))
		f()
	}
	return o.steps
})

// open opens a name that is absolute or relative to the working directory. The path is found out if it is
// "" and the call succeeds.
func (o *opener) open(about, name string, flags int, path string) {
	o.at(about, unix.AT_FDCWD, name, flags, path)
}

// at opens a name that is relative to a directory.
func (o *opener) at(about string, dirfd int, name string, flags int, path string) {
	if fd := o.hold(about, dirfd, name, flags, path); fd >= 0 {
		must(unix.Close(fd))
	}
}

// hold returns the descriptor, to be closed later, or -1.
func (o *opener) hold(about string, dirfd int, name string, flags int, path string) int {
	pointer := must1(unix.BytePtrFromString(name))
	// The system call itself: what wraps it adds flags and tries again.
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dirfd), uintptr(unsafe.Pointer(pointer)), uintptr(flags), anyMode, 0, 0)
	runtime.KeepAlive(pointer)
	return o.note(about, name, path, uint32(flags), fd, errno)
}

// note adds a call that has returned.
func (o *opener) note(about, name, path string, flags uint32, fd uintptr, errno unix.Errno) int {
	s := step{About: about, Name: []byte(name), Path: []byte(path), Result: int(fd), Flags: flags}
	var st unix.Stat_t
	if errno != 0 {
		s.Result = -int(errno)
	} else {
		must(unix.Fstat(int(fd), &st))
		s.Inode, s.Device = st.Ino, st.Dev
		if path == "" {
			s.Path = []byte(must1(os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))))
		}
	}
	if unix.Stat("/proc/self/ns/mnt", &st) == nil {
		s.Namespace = st.Ino
	}
	o.steps = append(o.steps, s)
	return max(s.Result, -1)
}

// touch makes a file without opening it.
func touch(file string) string {
	must(unix.Mknod(file, unix.S_IFREG|anyMode, 0))
	return file
}

func (o *opener) simple() {
	o.open("created", o.dir+"/plain", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, "")
	o.open("opened again", o.dir+"/plain", unix.O_RDONLY, "")
	o.open("the root", "/", unix.O_RDONLY|unix.O_DIRECTORY, "")
	must(os.Symlink("plain", "link"))
	o.open("through a symbolic link", o.dir+"/link", unix.O_RDONLY, "")
	must(os.Link("plain", "hard"))
	o.open("by its other name", o.dir+"/hard", unix.O_RDONLY, "")
	o.open("with dots and slashes", o.dir+"/./..//"+filepath.Base(o.dir)+"/plain", unix.O_RDONLY, "")
	must(unix.Mkfifo("fifo", 0o600))
	o.open("a named pipe", o.dir+"/fifo", unix.O_RDONLY|unix.O_NONBLOCK, "")
	o.open("a device", "/dev/null", unix.O_WRONLY, "")
	o.open("in /proc", "/proc/self/status", unix.O_RDONLY, "")
}

func (o *opener) relative() {
	must(os.MkdirAll("sub/inner", 0o755))
	touch("sub/inner/file")
	o.open("relative to the working directory", "sub/inner/file", unix.O_RDONLY, "")
	o.open("relative and missing", "sub/absent", unix.O_RDONLY, o.dir+"/sub/absent")
	must(unix.Chdir("sub/inner"))
	o.open("after chdir", "file", unix.O_RDONLY, "")
	o.open("missing after chdir", "absent", unix.O_RDONLY, o.dir+"/sub/inner/absent")
	o.open("missing above", "../absent", unix.O_RDONLY, o.dir+"/sub/absent")
	dirfd := o.hold("a directory", unix.AT_FDCWD, o.dir+"/sub", unix.O_RDONLY|unix.O_DIRECTORY, "")
	o.at("in the directory", dirfd, "inner/file", unix.O_RDONLY, "")
	o.at("missing in the directory", dirfd, "inner/absent", unix.O_RDONLY, o.dir+"/sub/inner/absent")
	must(os.Rename(o.dir+"/sub", o.dir+"/moved"))
	o.at("missing in the directory that was renamed", dirfd, "inner/absent", unix.O_RDONLY, o.dir+"/moved/inner/absent")
	must(unix.Close(dirfd))
}

func (o *opener) otherCalls() {
	call := func(about string, dirfd int, name string, how unix.OpenHow, path string) {
		pointer := must1(unix.BytePtrFromString(name))
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT2, uintptr(dirfd), uintptr(unsafe.Pointer(pointer)),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		if opened := o.note(about, name, path, uint32(how.Flags), fd, errno); opened >= 0 {
			must(unix.Close(opened))
		}
	}
	noLinks := unix.OpenHow{Flags: unix.O_RDONLY, Resolve: unix.RESOLVE_NO_SYMLINKS}
	call("openat2", unix.AT_FDCWD, o.dir+"/plain", noLinks, "")
	call("openat2 that refuses the link", unix.AT_FDCWD, o.dir+"/link", noLinks, o.dir+"/link")
	dirfd := o.hold("a root for openat2", unix.AT_FDCWD, o.dir, unix.O_PATH, "")
	call("openat2 in a root of its own", dirfd, "/plain", unix.OpenHow{Flags: unix.O_WRONLY, Resolve: unix.RESOLVE_IN_ROOT}, "")
	must(unix.Close(dirfd))
	o.legacyCalls()
}

func (o *opener) failures() {
	must(os.Symlink("loop", "loop"))
	for _, f := range []struct {
		about, name string
		flags       int
	}{
		{"a missing file", "/absent", unix.O_RDONLY},
		{"a file below a file", o.dir + "/plain/below", unix.O_RDONLY},
		{"a directory to write to", o.dir, unix.O_WRONLY},
		{"one that exists", o.dir + "/plain", unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL},
		{"a link to itself", o.dir + "/loop", unix.O_RDONLY},
		{"a component of 300 bytes", "/" + strings.Repeat("n", 300), unix.O_RDONLY},
		{"a fifo that nobody reads", o.dir + "/fifo", unix.O_WRONLY | unix.O_NONBLOCK},
	} {
		o.open(f.about, f.name, f.flags, f.name)
	}
	o.at("a descriptor that isn't open", 1000, "absent", unix.O_RDONLY, "absent")
	o.at("a descriptor that is no directory", 1, "absent", unix.O_RDONLY, "absent")
	o.open("an empty name", "", unix.O_RDONLY, "")
	_, _, errno := unix.Syscall6(unix.SYS_OPENAT, 0, 0, unix.O_RDONLY, 0, 0, 0)
	o.note("no name", "", "", unix.O_RDONLY, 0, errno)
}

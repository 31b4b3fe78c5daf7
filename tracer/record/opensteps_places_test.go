//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// hostileNames would break a trace, or what shows it, if they weren't taken as bytes.
var hostileNames = []string{
	"with blanks and\ttabs", "two\nlines\r", "quotes\"'`", "back\\slash", "\x1b[31mcolour\x1b[0m", "\x01\x02\x7f control",
	"invalid \xff\xfe\x80 UTF-8", "ünïcödé ☃", "<html>&amp;", "-rf", "%s%n", strings.Repeat("x", 255), event.CutMark,
}

func (o *opener) hostile() {
	for _, name := range hostileNames {
		o.open("a hostile name that is missing", o.dir+"/"+name, unix.O_RDONLY, o.dir+"/"+name)
		o.open("a hostile name", name, unix.O_RDWR|unix.O_CREAT, o.dir+"/"+name)
	}
}

// pathless opens what has no path, or none any more.
func (o *opener) pathless() {
	again := func(about string, fd int, path string) {
		o.open(about, fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY, path)
		must(unix.Close(fd))
	}
	var pipe [2]int
	must(unix.Pipe(pipe[:]))
	again("a pipe", pipe[0], noPath)
	again("a memfd", must1(unix.MemfdCreate("memory", 0)), noPath)
	fd := o.hold("to be unlinked", unix.AT_FDCWD, touch(o.dir+"/unlinked"), unix.O_RDONLY, "")
	must(unix.Unlink("unlinked"))
	again("an unlinked file", fd, o.dir+"/unlinked")
}

// renamed opens what had another name before, as Python does with what it compiles.
func (o *opener) renamed() {
	o.open("a .pyc in the making", o.dir+"/m.pyc.140", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, "")
	must(os.Rename("m.pyc.140", "m.pyc"))
	o.open("the .pyc", o.dir+"/m.pyc", unix.O_RDONLY, "")
	must(os.Remove("m.pyc"))
	o.open("a new file that may have got the inode", touch(o.dir+"/n.pyc"), unix.O_RDONLY, "")
	must(os.MkdirAll("before/deep", 0o755))
	o.open("before its directory is renamed", touch(o.dir+"/before/deep/file"), unix.O_RDONLY, "")
	must(os.Rename("before/deep", "before/low"))
	o.open("after its directory was renamed", o.dir+"/before/low/file", unix.O_RDONLY, "")
}

func mkdir(dir string) string { must(os.MkdirAll(dir, 0o755)); return dir }

// mounts opens files in mounts inside mounts, bind mounts and an overlay, all in a namespace of its own.
func (o *opener) mounts() {
	must(unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS))
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	tmpfs := func(dir string) { must(unix.Mount("tmpfs", mkdir(dir), "tmpfs", 0, "size=64k")) }

	tmpfs(o.dir + "/outer")
	tmpfs(o.dir + "/outer/a/inner")
	mkdir(o.dir + "/outer/a/inner/b")
	o.open("in a mount inside a mount", touch(o.dir+"/outer/a/inner/b/file"), unix.O_RDONLY, "")
	o.open("the root of a mount", o.dir+"/outer/a/inner", unix.O_RDONLY, "")
	must(unix.Chdir(o.dir + "/outer/a/inner"))
	o.open("missing in a mount", "b/absent", unix.O_RDONLY, o.dir+"/outer/a/inner/b/absent")

	must(unix.Mount(o.dir+"/outer/a", mkdir(o.dir+"/bound"), "", unix.MS_BIND|unix.MS_REC, ""))
	o.open("in a bind mount", o.dir+"/bound/inner/b/file", unix.O_RDONLY, "")
	must(unix.Mount(o.dir+"/plain", touch(o.dir+"/face"), "", unix.MS_BIND, ""))
	o.open("a file bound over a file", o.dir+"/face", unix.O_RDONLY, "")
	tmpfs(o.dir + "/stack")
	touch(o.dir + "/stack/hidden")
	tmpfs(o.dir + "/stack")
	o.open("in a mount over a mount", touch(o.dir+"/stack/file"), unix.O_RDONLY, "")

	low, up, work := mkdir(o.dir+"/outer/low"), mkdir(o.dir+"/outer/up"), mkdir(o.dir+"/outer/work")
	touch(low + "/layered")
	must(unix.Mount("overlay", mkdir(o.dir+"/overlay"), "overlay", 0, "lowerdir="+low+",upperdir="+up+",workdir="+work))
	o.open("in an overlay, from below", o.dir+"/overlay/layered", unix.O_RDONLY, "")
	o.open("in an overlay, on top", touch(o.dir+"/overlay/upper"), unix.O_RDONLY, "")
}

// chroot opens files where the root is another one. It comes after mounts, which gave this thread a root
// of its own to change.
func (o *opener) chroot() {
	touch(mkdir(o.dir+"/jail/in") + "/side")
	root := o.hold("the root to come back to", unix.AT_FDCWD, "/", unix.O_PATH, "")
	must(unix.Chroot("jail"))
	must(unix.Chdir("/in"))
	o.open("in a jail", "/in/side", unix.O_RDONLY, o.dir+"/jail/in/side")
	o.open("missing in a jail, relative", "absent", unix.O_RDONLY, o.dir+"/jail/in/absent")
	o.open("missing in a jail", "/in/absent", unix.O_RDONLY, o.dir+"/jail/in/absent")
	must(unix.Fchdir(root))
	must(unix.Chroot("."))
	must(unix.Close(root))
}

// nest returns a path below the directory with a number of components, all but the last of which are the name.
func (o *opener) nest(components int, name string) string {
	return o.dir + strings.Repeat("/"+name, components-1-strings.Count(o.dir, "/")) + "/f"
}

// long opens paths that are as long as the trace can hold, and longer ones.
func (o *opener) long() {
	made := func(path string) string {
		mkdir(filepath.Dir(path))
		return touch(path)
	}
	o.open("over 255 bytes", made(o.nest(8, strings.Repeat("m", 99))), unix.O_RDONLY, "")
	o.open("64 components", made(o.nest(64, "n")), unix.O_RDONLY, "")
	o.open("65 components", made(o.nest(65, "q")), unix.O_RDONLY, "")
	long := o.nest(64, strings.Repeat("p", 62))
	o.open(fmt.Sprintf("%d bytes in 64 components", len(long)), made(long), unix.O_RDONLY, "")
	o.open("missing, with a long name", long+"absent", unix.O_RDONLY, long+"absent")
	name := "/" + strings.Repeat("long/", 1000)
	o.open("a name of over 4,095 bytes", name, unix.O_RDONLY, name)
	directory := strings.Repeat("d", 250)
	for range 20 {
		must(unix.Mkdir(directory, 0o755))
		must(unix.Chdir(directory))
	}
	o.open("a path of over 4,095 bytes", touch("f"), unix.O_RDONLY, o.dir+strings.Repeat("/"+directory, 20)+"/f")
}

// cold opens names that are not in memory when the call begins.
func (o *opener) cold() {
	for _, name := range []string{touch(o.dir + "/here"), o.dir + "/nowhere"} {
		fd := o.hold("the file with the name", unix.AT_FDCWD, o.dir+"/name", unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, "")
		must1(unix.Write(fd, append([]byte(name), 0)))
		must(unix.Fsync(fd))
		must(unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED))
		page := must1(unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE))
		if resident(page) {
			panic("the page of the name is in memory")
		}
		cwd := unix.AT_FDCWD
		opened, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(unsafe.Pointer(&page[0])), unix.O_RDONLY, 0, 0, 0)
		if opened := o.note("a name that isn't in memory", name, name, unix.O_RDONLY, opened, errno); opened >= 0 {
			must(unix.Close(opened))
		}
		must(unix.Munmap(page))
		must(unix.Close(fd))
	}
}

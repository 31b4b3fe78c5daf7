//go:build linux && kerneltest

package record_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An execStep is a process that calls exec in one way.
type execStep struct {
	Way  string
	PID  int
	Name []byte // as the program was called
	Exe  []byte // where it is
	Argv [][]byte
	// OtherThread: exec was called by a thread that was not the first.
	OtherThread bool
}

// execWays are the ways to call exec. Each gets a directory of its own and never returns.
var execWays = []struct {
	way string
	// plan tells what will be seen; it may prepare files.
	plan func(dir string) execStep
	// exec does it.
	exec func(dir string, s execStep)
}{
	{"execve", plain("true", "one", "two"), execve},
	{"execve, hostile arguments", plain(slices.Concat([]string{"true", "", ""}, hostileNames)...), execve},
	{"execve, no arguments but the name", plain("true"), execve},
	{"execve, arguments of 4,096 bytes", plain("true", strings.Repeat("a", 4096-len("true\x00\x00"))), execve},
	{"execve, long arguments", plain("true", strings.Repeat("b", 3000), strings.Repeat("c", 3000), "d"), execve},
	{"execve by a name with dots", func(dir string) execStep {
		must(os.Mkdir(dir+"/in", 0o755))
		return named(dir+"/in/../true", copyProgram(dir+"/true"), "true")
	}, execve},
	{"execve through a symbolic link", func(dir string) execStep {
		must(os.Symlink(copyProgram(dir+"/true"), dir+"/link"))
		return named(dir+"/link", dir+"/true", "link")
	}, execve},
	{"execve by a hostile name", func(dir string) execStep {
		hostile := dir + "/\xff\n\"'"
		return named(hostile, copyProgram(hostile), "hostile")
	}, execve},
	{"a script", func(dir string) execStep {
		must(os.WriteFile(dir+"/script", []byte("#!/bin/sh -e\n:\n"), 0o755))
		s := named(dir+"/script", must1(filepath.EvalSymlinks("/bin/sh")), "/bin/sh", "-e", dir+"/script", "argument")
		return s
	}, func(dir string, s execStep) { check(unix.Exec(dir+"/script", []string{"replaced", "argument"}, nil)) }},
	{"execveat from a directory", func(dir string) execStep {
		copyProgram(dir + "/true")
		return named("/dev/fd/9/true", dir+"/true", "true")
	}, func(dir string, s execStep) { execveat(hold(dir, 9), "true", s) }},
	{"fexecve", func(dir string) execStep {
		copyProgram(dir + "/true")
		return named("/dev/fd/9", dir+"/true", "true")
	}, func(dir string, s execStep) { execveat(hold(dir+"/true", 9), "", s) }},
	{"fexecve from memory", func(dir string) execStep { return named("/dev/fd/9", "", "true") },
		func(dir string, s execStep) {
			fd := must1(unix.MemfdCreate("program", 0))
			must1(unix.Write(fd, must1(os.ReadFile("/bin/true"))))
			must(unix.Dup3(fd, 9, 0))
			execveat(9, "", s)
		}},
	{"execve after a failed one", plain("true"), func(dir string, s execStep) {
		if err := unix.Exec(dir+"/absent", []string{"absent"}, nil); err != unix.ENOENT {
			panic(err)
		}
		execve(dir, s)
	}},
	{"execve from another thread", func(dir string) execStep {
		s := plain("true", "other")(dir)
		s.OtherThread = true
		return s
	}, func(dir string, s execStep) {
		go func() { runtime.LockOSThread(); execve(dir, s) }()
		select {}
	}},
	{"execve in a jail", func(dir string) execStep {
		must(os.Mkdir(dir+"/jail", 0o755))
		program := must1(filepath.EvalSymlinks("/bin/true"))
		return named(program, dir+"/jail"+program, "true")
	}, func(dir string, s execStep) {
		must(unix.Unshare(unix.CLONE_NEWNS))
		must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		must(unix.Mount("/", dir+"/jail", "", unix.MS_BIND, ""))
		must(unix.Chroot(dir + "/jail"))
		execve(dir, s)
	}},
}

// plain is a copy of a program in the directory, called by its path.
func plain(argv ...string) func(dir string) execStep {
	return func(dir string) execStep { return named(dir+"/true", copyProgram(dir+"/true"), argv...) }
}

func named(name, exe string, argv ...string) execStep {
	s := execStep{Name: []byte(name), Exe: []byte(exe)}
	for _, a := range argv {
		s.Argv = append(s.Argv, []byte(a))
	}
	return s
}

func copyProgram(to string) string {
	must(os.WriteFile(to, must1(os.ReadFile("/bin/true")), 0o755))
	return to
}

func check(err error) { must(err); panic("exec returned") }

func (s execStep) argv() (argv []string) {
	for _, a := range s.Argv {
		argv = append(argv, string(a))
	}
	return argv
}

func execve(_ string, s execStep) { check(unix.Exec(string(s.Name), s.argv(), nil)) }

// hold opens a file as a certain descriptor.
func hold(file string, as int) int {
	fd := must1(unix.Open(file, unix.O_RDONLY, 0))
	must(unix.Dup3(fd, as, 0))
	return as
}

func execveat(fd int, name string, s execStep) {
	argv := must1(syscall.SlicePtrFromStrings(s.argv()))
	environment := []*byte{nil}
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(must1(unix.BytePtrFromString(name)))),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&environment[0])), unix.AT_EMPTY_PATH, 0)
	check(errno)
}

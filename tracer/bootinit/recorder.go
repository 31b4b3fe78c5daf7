//go:build linux

package bootinit

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// RecorderName is the recorder's argv[0] until it is in the system's root. systemd kills every process
// when it changes from the initramfs to that, except those whose argv[0] begins so
// (https://systemd.io/ROOT_STORAGE_DAEMONS).
const RecorderName = "@" + Name

// A recorder was started as a child, which it stays when this process becomes the real init.
type recorder struct {
	pid   int
	ready *net.UnixConn // nil if nobody waits for it
}

// readyName is where the recorder tells that it is ready, as a service tells systemd (sd_notify(3)).
const readyName = "@bootscope/attached"

// start starts the recorder in a session and a mount namespace of its own: what it mounts, nobody else
// finds mounted.
func start(self string, hold bool) (*recorder, error) {
	r := &recorder{}
	environ := os.Environ()
	if hold {
		var err error
		if r.ready, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: readyName, Net: "unixgram"}); err != nil {
			return nil, err
		}
		environ = append(environ, "NOTIFY_SOCKET="+readyName)
	}
	var err error
	r.pid, err = syscall.ForkExec(self, []string{RecorderName}, &syscall.ProcAttr{
		Dir: "/", Env: environ, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Unshareflags: syscall.CLONE_NEWNS},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the recorder: %w", err)
	}
	return r, nil
}

// attached waits until the recorder is ready or has ended.
func (r *recorder) attached() bool {
	if r.ready == nil {
		return false
	}
	go func() {
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(r.pid, &status, 0, nil)
		r.ready.Close()
	}()
	message := make([]byte, 256)
	n, err := r.ready.Read(message)
	return err == nil && strings.Contains(string(message[:n]), "READY=1")
}

// searchPath is where programs of the system will be. The kernel gives its first process none.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Of linux/ioprio.h.
const (
	whoProcess = 1
	bestEffort = 2
)

// SetUp makes the recorder's process what the rest of the program expects: with /proc, /sys and /dev, and
// with its output in the kernel's log, since there is no other yet.
func SetUp() error {
	closeInherited()
	var errs []error
	for _, m := range []struct{ kind, dir, has string }{
		{"proc", "/proc", "/proc/self/stat"}, {"sysfs", "/sys", "/sys/kernel"}, {"devtmpfs", "/dev", "/dev/kmsg"},
	} {
		if _, err := os.Stat(m.has); err == nil {
			continue
		}
		_ = os.Mkdir(m.dir, 0o755) // an initramfs may have no such directory; mounting tells the rest
		if err := unix.Mount(m.kind, m.dir, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
			errs = append(errs, fmt.Errorf("mounting %s for the recorder: %w", m.dir, err))
		}
	}
	redirect("/dev/null", unix.O_RDONLY, 0)
	redirect("/dev/kmsg", unix.O_WRONLY, 1, 2)
	_ = os.Setenv("PATH", searchPath)
	// As the unit: the first to go, and the last to read or write.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, 0, bestEffort<<13|7)
	return errors.Join(errs...)
}

// closeInherited closes what is meant for the real init: what systemd in an initramfs hands over to the
// one of the system. What this process has opened itself has the flag.
func closeInherited() {
	for fd := 3; fd < 1024; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// redirect makes descriptors lead to a file; if it can't be opened they stay what they are.
func redirect(name string, mode int, fds ...int) {
	file, err := unix.Open(name, mode|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for _, fd := range fds {
		_ = unix.Dup3(file, fd, 0)
	}
	unix.Close(file)
}

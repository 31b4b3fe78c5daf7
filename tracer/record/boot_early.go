//go:build linux

package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/bootunit"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A boot that is recorded from its first process on (package bootinit) begins without a system: perhaps in
// an initramfs, with what the recorder has mounted for itself in a mount namespace of its own. When the
// first process is in the system's root, and has what belongs there mounted, the recorder follows it there
// by chroot. From then on every path means what it means to everybody else.

// systemRoot is where the first process is, seen through a descriptor of /proc: that path may be gone by
// then, since whoever leaves an initramfs removes all that is in it.
type systemRoot struct{ proc *os.File }

func findSystemRoot() (*systemRoot, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("the system's root will not be found: %w", err)
	}
	return &systemRoot{proc}, nil
}

// ready tells whether the first process has left the initramfs and mounted what a system has.
func (s *systemRoot) ready() bool {
	switch s.kind("1/root") {
	case unix.RAMFS_MAGIC, unix.TMPFS_MAGIC, 0:
		return false
	}
	return s.kind("1/root/proc") == unix.PROC_SUPER_MAGIC && s.kind("1/root/sys") == unix.SYSFS_MAGIC
}

// kind is the type of file system that a directory below /proc is on, 0 if it can't be told.
func (s *systemRoot) kind(name string) uint32 {
	fd, err := unix.Openat(int(s.proc.Fd()), name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return 0
	}
	return uint32(st.Type) // signed on some architectures
}

// enter goes there.
func (s *systemRoot) enter() error {
	if err := unix.Fchdir(int(s.proc.Fd())); err != nil {
		return fmt.Errorf("entering the system's root: %w", err)
	}
	if err := errors.Join(unix.Chroot("1/root"), unix.Chdir("/")); err != nil {
		return fmt.Errorf("entering the system's root: %w", err)
	}
	unmark()
	return s.proc.Close()
}

// unmark takes back the mark that kept systemd from killing this process when it left the initramfs
// (bootinit.RecorderName): at shutdown it would keep the disk busy. The string is made of the very bytes
// that /proc/PID/cmdline shows.
func unmark() {
	if name := os.Args[0]; strings.HasPrefix(name, "@") {
		shown := unsafe.Slice(unsafe.StringData(name), len(name))
		shown[copy(shown, shown[1:])] = 0
	}
}

// startEarly makes the recording one that began before systemd.
func (b *bootRecording) startEarly() (err error) {
	b.recorder.explainCgroups()
	b.output.why = errors.New("the system's root is not there yet")
	b.root, err = findSystemRoot()
	return err
}

// disarmAdopted disarms later than others do: systemd has to find the unit that adopts the recorder first.
func (b *bootRecording) disarmAdopted() {
	if b.output.store.Once != "" && !b.disarming {
		b.disarming = true
		go disarm(b.recorder.options.Notice)
	}
}

// disarmAtEnd does so if no unit came.
func (b *bootRecording) disarmAtEnd() {
	if !b.options.Early || b.output.store.Once == "" || b.disarming {
		return
	}
	if err := (bootunit.System{Root: "/"}).Disarm(); err != nil {
		b.recorder.options.Notice("the next boot will be recorded too: %v", err)
	}
}

// settle follows the first process into the system's root if it is there, or if there is no more time to
// wait for it. It tells whether the recorder is there.
func (b *bootRecording) settle(now bool) bool {
	if b.root == nil || !now && !b.root.ready() {
		return b.root == nil
	}
	if err := b.root.enter(); err != nil {
		b.recorder.options.Notice("%v", err)
	}
	b.root = nil
	if system := (bootunit.System{Root: "/"}); system.Installed() && !system.Armed() {
		b.output.refused = bootunit.ErrSpent // an initramfs can't know
	}
	return true
}

// findCgroups looks for the cgroups that systemd has mounted meanwhile, and writes those that are there.
func (b *bootRecording) findCgroups() error {
	if !b.options.Early || b.cgroupsFound || b.root != nil {
		return nil
	}
	found, err := system.FindCgroups()
	if err != nil {
		return nil // not yet
	}
	b.cgroupsFound, b.recorder.cgroups = true, found
	return found.Walk(func(e *event.Cgroup) error { return b.recorder.writer.Event(e) })
}

// explainCgroups tells what is different when the recording is older than the cgroups.
func (r *recorder) explainCgroups() {
	for i := range r.statuses {
		if s := &r.statuses[i]; s.Name == event.ProbeCgroup.String() && s.Status == tracefile.StatusLesser {
			s.Reason = "the recording began before cgroups were mounted: units are known of what was started later"
		}
	}
}

// cgroupTrees are where systemd's tree of cgroups may be: all is version 2, both are there, or only
// version 1.
var cgroupTrees = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"}

// join makes the recorder a process of a unit. From now on it is ended with it, and its limits are the
// unit's. An initramfs needn't know whether the system is armed for one boot: the unit tells.
func (b *bootRecording) join(unit string) (s bootunit.Status) {
	cgroup, once, _ := strings.Cut(unit, " ")
	if !b.settle(false) {
		s.Error = "the recorder has not found the system's root yet"
		return s
	}
	var failed []error
	for _, tree := range cgroupTrees {
		err := os.WriteFile(filepath.Join(tree, cgroup, "cgroup.procs"), []byte("0"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		s.Error = "the recorder cannot join the unit: " + err.Error()
		return s
	}
	if once != "" {
		b.output.store.Once = once
	}
	b.disarmAdopted()
	return b.status()
}

// joinPatience is how long the recorder may take to become the unit's process: it answers when all is
// attached.
const joinPatience = time.Minute

// handOver makes the recorder that was started before systemd this unit's main process, in place of this
// one.
func handOver(once string) error {
	cgroup, err := ownUnit()
	if err != nil {
		return err
	}
	pid, err := bootunit.Join(cgroup, once, joinPatience)
	if err != nil {
		return fmt.Errorf("the recording that began before systemd goes on without this unit: %w", err)
	}
	notify(fmt.Sprintf("MAINPID=%d\nREADY=1", pid))
	return os.Unsetenv("NOTIFY_SOCKET") // from now on it takes messages from that process only
}

// ownUnit is the cgroup of this process, if systemd has started it as bootscope's unit.
func ownUnit() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		tree, path, _ := strings.Cut(strings.TrimSpace(line), ":/")
		if (tree == "0:" || strings.HasSuffix(tree, "name=systemd")) && filepath.Base(path) == bootunit.UnitName {
			return "/" + path, nil
		}
	}
	return "", bootunit.ErrRecording // somebody has called it by hand
}

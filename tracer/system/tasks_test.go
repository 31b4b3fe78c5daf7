//go:build linux

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// statLine is what /proc/PID/stat says of a process with this name.
func statLine(name string) string {
	return "4711 (" + name + ") D 42 4711 4711 34816 4711 4194304 1234 5678 17 18 25 30 7 9 20 0 1 0 9876 7700480 1000 " +
		"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 3 0 0 0 0 0 0 0 0 0 0\n"
}

func TestParseStat(t *testing.T) {
	for _, name := range []string{"cat", "", "a b", ") R 1 (", "((", "))", "\xff\n", "tab\tand) 4 5"} {
		task, err := parseStat([]byte(statLine(name)))
		if err != nil {
			t.Errorf("name %q: %v", name, err)
			continue
		}
		if event.Comm(task.Comm) != name || task.State != 'D' || task.Parent != 42 || task.MinorFaults != 1234 || task.MajorFaults != 17 ||
			task.CPUTime != 550e6 || task.Start != 98_760_000_000 || task.KernelThread != 0 {
			t.Errorf("name %q: %+v", name, task)
		}
	}
	kernel := strings.Replace(statLine("kthreadd"), "4194304", fmt.Sprint(0x00200000|0x40), 1)
	if task, err := parseStat([]byte(kernel)); err != nil || task.KernelThread != 1 {
		t.Errorf("a kernel thread is %+v (%v)", task, err)
	}
}

func TestParseStatRefuses(t *testing.T) {
	for _, text := range []string{"", "4711", "4711 (cat", "4711 cat) S 1", "1 )x( S 1", "4711 (cat) S 1 2 3", "4711 (cat) RR" + strings.Repeat(" 1", 30)} {
		if task, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q is %+v, want an error", text, task)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine("cat")))
	f.Add([]byte(statLine(") S 1 (")))
	f.Add([]byte("1 (x) S 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if task, err := parseStat(text); (task == nil) == (err == nil) {
			t.Errorf("%q gives %v and %v", text, task, err)
		}
	})
}

// TestReadTasks finds this process and its threads.
func TestReadTasks(t *testing.T) {
	tids := make(chan int)
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		tids <- unix.Gettid()
		<-done
	}()
	other := <-tids
	defer close(done)
	tasks, err := ReadTasks(&Cgroups{ids: map[string]uint64{}}, map[uint32]bool{uint32(os.Getppid()): true})
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]*event.Task{}
	for _, task := range tasks {
		if int(task.PID) == os.Getpid() {
			found[int(task.TID)] = task
		}
		if int(task.PID) == os.Getppid() {
			t.Errorf("thread %d was known already", task.TID)
		}
	}
	for _, tid := range []int{os.Getpid(), other} {
		task := found[tid]
		if task == nil || int(task.Parent) != os.Getppid() || task.Time == 0 || task.Start == 0 || task.Start > task.Time {
			t.Errorf("thread %d is %+v", tid, task)
		}
	}
}

func TestProgramOf(t *testing.T) {
	self, _ := os.Executable()
	for _, args := range []bool{true, false} {
		task := event.Task{}
		task.SetTail(ProgramOf(os.Getpid(), args))
		if exe, argv := task.ExeAndArgv(); exe != self || args != slices.Equal(argv, os.Args) {
			t.Errorf("arguments %v: this is %q with %q", args, exe, argv)
		}
	}
}

func TestProgramOfIsCut(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/usr/bin/long", filepath.Join(dir, "exe")); err != nil {
		t.Fatal(err)
	}
	write("cmdline", strings.Repeat("argument\x00", 1000))
	if got := programIn(dir, true); len(got) != tailLimit || !strings.HasPrefix(string(got), "/usr/bin/long\x00argument\x00argument") {
		t.Errorf("%d bytes, %.50q…; want %d", len(got), got, tailLimit)
	}
	if got := programIn(t.TempDir(), true); string(got) != "\x00" {
		t.Errorf("a process without a program, which is a kernel thread, has %q", got)
	}
}

//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// A cgrouped is what the load did with cgroups.
type cgrouped struct {
	Old, New      uint64 // ids: the inodes of their directories
	Moved, Joined int    // processes: one that was moved there, one that was born there
}

// unifiedCgroups returns where the cgroup2 tree is.
func unifiedCgroups() string {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var s unix.Statfs_t
		if unix.Statfs(dir, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir
		}
	}
	panic("no cgroup2 tree is mounted")
}

// cgrouper makes a cgroup below one that was there, and brings processes into it. Both have the names
// of units.
var cgrouper = newLoad("cgrouper", func(args []string) (told cgrouped) {
	old, dir := args[0], args[0]+"/brief.service"
	must(os.Mkdir(dir, 0o755))
	told.Old, told.New = inode(old), inode(dir)

	moved := exec.Command("sh", "-c", "read x; /bin/true; exit")
	stdin := must1(moved.StdinPipe())
	must(moved.Start())
	must(os.WriteFile(dir+"/cgroup.procs", []byte(fmt.Sprint(moved.Process.Pid)), 0))
	must1(stdin.Write([]byte("\n")))
	must(moved.Wait())

	joined := exec.Command("/bin/true")
	d := must1(os.Open(dir))
	joined.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(d.Fd())}
	must(joined.Run())
	must(d.Close())
	must(os.Remove(dir))
	told.Moved, told.Joined = moved.Process.Pid, joined.Process.Pid
	return told
})

func inode(path string) uint64 {
	var s unix.Stat_t
	must(unix.Stat(path, &s))
	return s.Ino
}

// TestCgroups follows processes into a unit that lives for milliseconds.
func TestCgroups(t *testing.T) {
	old := filepath.Join(unifiedCgroups(), fmt.Sprintf("bootscope-test-%d.slice", os.Getpid()))
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(old) })
	tr, told := cgrouper.record(t, record.Options{}, old)
	paths := map[uint64]string{}
	for _, c := range of[*event.Cgroup](tr, 0) {
		paths[c.Cgroup] = string(c.TailBytes())
	}
	oldPath := "/" + filepath.Base(old)
	if paths[told.Old] != oldPath || paths[told.New] != oldPath+"/brief.service" {
		t.Errorf("the cgroups are %q and %q, want %q and brief.service in it", paths[told.Old], paths[told.New], oldPath)
	}
	attached := 0
	for _, a := range of[*event.CgroupAttach](tr, 0) {
		if int(a.Target) == told.Moved && a.Cgroup == told.New {
			attached++
		}
	}
	if attached != 1 {
		t.Errorf("process %d moves to the cgroup %d times, want once", told.Moved, attached)
	}
	checkForkedIn(t, tr, told)
	tl := tr.timeline(t)
	for _, pid := range []int{told.Moved, told.Joined} {
		if p := process(t, tl, pid); p.Cgroup != oldPath+"/brief.service" || p.Unit == nil || p.Unit.Name != "brief.service" {
			t.Errorf("process %d is in cgroup %q, unit %+v", pid, p.Cgroup, p.Unit)
		}
	}
}

// checkForkedIn checks the cgroups of processes that were born in one.
func checkForkedIn(t *testing.T, tr *trace, told cgrouped) {
	t.Helper()
	forks := byChild(tr)
	if f := forks[told.Joined]; len(f) != 1 || f[0].Cgroup != told.New {
		t.Errorf("process %d is born in %+v, want cgroup %d", told.Joined, f, told.New)
	}
	if x := of[*event.Exec](tr, told.Joined); len(x) != 1 || x[0].Cgroup != told.New {
		t.Errorf("process %d calls exec in %+v, want cgroup %d", told.Joined, x, told.New)
	}
	children := 0
	for _, forked := range forks {
		if f := forked[0]; int(f.PID) == told.Moved {
			children++
			if f.Cgroup != told.New {
				t.Errorf("process %d, child of the moved one, is born in cgroup %d, want %d", f.ChildPID, f.Cgroup, told.New)
			}
		}
	}
	if children != 1 {
		t.Errorf("the moved process has %d children, want 1", children)
	}
}

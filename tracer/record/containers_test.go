//go:build linux && kerneltest

package record_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// A container is where a program of testdata/contained.c runs, and which.
type container struct {
	About   string
	Program string // in bin of the tree
	Place   string // see enter
	Tree    string // directory with bin, etc, and musl's loader in lib
	Service string // name of its cgroup
}

// What becomes of the tree.
const (
	asItIs = "as it is"
	asRoot = "chroot"
	asNew  = "namespaces of its own, pivot_root"
)

var containers = []container{
	{About: "static", Program: "static", Place: asItIs},
	{About: "musl", Program: "dynamic", Place: asItIs},
	{About: "static in a chroot", Program: "static", Place: asRoot},
	{About: "musl in a chroot", Program: "dynamic", Place: asRoot},
	{About: "static in a container", Program: "static", Place: asNew},
	{About: "musl in a container", Program: "dynamic", Place: asNew},
}

// contained is what /proc says of a program while it runs.
type contained struct {
	container
	PID, Child int // here
	Inside     [2]int
	Exe        string
	Cgroup     string
	MountNS    uint64
	Stack      [2]uint64
	Opened     []string // the files of its descriptors from 3 on
}

// containerNames are what the program is told to open.
var containerNames = []string{"/etc/thing", "other"}

// runContainers runs one after the other.
var runContainers = newLoad("run-containers", func(args []string) (told []contained) {
	for i, c := range containers {
		c.Tree, c.Service = containerTree(args[0], i), fmt.Sprintf("bootscope-test-%d-%d.service", os.Getpid(), i)
		told = append(told, c.run())
	}
	return told
})

func (c container) run() contained {
	cgroup := filepath.Join(unifiedCgroups(), c.Service)
	must(os.Mkdir(cgroup, 0o755))
	defer os.Remove(cgroup)
	dir := must1(os.Open(cgroup))
	defer dir.Close()
	cmd := containerEntry.command(string(must1(json.Marshal(c))))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if c.Place == asNew {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID
	}
	stdin, stdout := must1(cmd.StdinPipe()), must1(cmd.StdoutPipe())
	must(cmd.Start())
	told := contained{container: c, PID: cmd.Process.Pid}
	must1(fmt.Fscan(stdout, &told.Inside[0], &told.Inside[1]))
	told.look()
	must(stdin.Close())
	must1(io.Copy(io.Discard, stdout))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		panic(err)
	}
	return told
}

// look reads what /proc says.
func (c *contained) look() {
	proc := fmt.Sprintf("/proc/%d/", c.PID)
	children := strings.Fields(string(must1(os.ReadFile(fmt.Sprintf("%stask/%d/children", proc, c.PID)))))
	c.Child = must1(strconv.Atoi(children[0]))
	c.Exe = must1(os.Readlink(proc + "exe"))
	c.MountNS = inode(proc + "ns/mnt")
	for line := range strings.Lines(string(must1(os.ReadFile(proc + "cgroup")))) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			c.Cgroup = strings.TrimSpace(path)
		}
	}
	for line := range strings.Lines(string(must1(os.ReadFile(proc + "maps")))) {
		if strings.HasSuffix(line, "[stack]\n") {
			must1(fmt.Sscanf(line, "%x-%x", &c.Stack[0], &c.Stack[1]))
		}
	}
	for i := range containerNames {
		c.Opened = append(c.Opened, must1(os.Readlink(proc+"fd/"+strconv.Itoa(3+i))))
	}
}

// containerEntry goes to the place and becomes the program.
var containerEntry = newLoad("container-entry", func(args []string) bool {
	var c container
	must(json.Unmarshal([]byte(args[0]), &c))
	root := c.enter()
	must(os.Chdir(root + "/etc"))
	program := root + "/bin/" + c.Program
	must(unix.Exec(program, append([]string{c.Program}, root+containerNames[0], containerNames[1]), nil))
	return false
})

// enter returns what stands before the names of the tree's files then.
func (c container) enter() string {
	switch c.Place {
	case asItIs:
		return c.Tree
	case asRoot:
		must(unix.Chroot(c.Tree))
		return ""
	}
	must(unix.Unshare(unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC))
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount(c.Tree, c.Tree, "", unix.MS_BIND|unix.MS_REC, ""))
	must(unix.PivotRoot(c.Tree, c.Tree+"/old"))
	must(os.Chdir("/"))
	must(unix.Unmount("/old", unix.MNT_DETACH))
	return ""
}

// containerTree is what the tree of a container is called. Each has its own: a file has one path in a trace, the
// one that it was first opened by.
func containerTree(dir string, i int) string { return fmt.Sprintf("%s/%d", dir, i) }

// containerTrees compiles the programs and puts them where the containers expect them.
func containerTrees(t *testing.T) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("musl-gcc"); err != nil {
		t.Skip("there is no musl-gcc (package musl-tools)")
	}
	loaders := must1(filepath.Glob("/lib/ld-musl-*.so.1"))
	if len(loaders) != 1 {
		t.Fatalf("musl's loaders: %q", loaders)
	}
	dir = t.TempDir()
	contents := map[string][]byte{loaders[0]: must1(os.ReadFile(loaders[0])), "/etc/thing": nil, "/etc/other": nil}
	for program, flags := range map[string][]string{"static": {"-static"}, "dynamic": nil} {
		file := dir + "/" + program
		gcc := exec.Command("musl-gcc", append(flags, "-o", file, "testdata/contained.c")...)
		if out, err := gcc.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", gcc, err, out)
		}
		contents["/bin/"+program] = must1(os.ReadFile(file))
	}
	for i := range containers {
		tree := containerTree(dir, i)
		for _, name := range []string{"bin", "etc", "lib", "old"} {
			must(os.MkdirAll(tree+"/"+name, 0o755))
		}
		for name, data := range contents {
			must(os.WriteFile(tree+name, data, 0o755))
		}
	}
	return dir
}

// TestContainers: programs without glibc, below other roots and in namespaces of their own are told as /proc
// shows them here: with the ids of this machine, paths from the root of their mounts, and their unit.
func TestContainers(t *testing.T) {
	tr, told := runContainers.record(t, record.Options{}, containerTrees(t))
	tr.checkNothingLost(t)
	tl := tr.timeline(t)
	here := inode("/proc/thread-self/ns/mnt") // the first thread may have left for another test
	for _, c := range told {
		t.Run(c.About, func(t *testing.T) {
			if want := c.Place == asNew; (c.Inside[0] == 1) != want || (c.Inside[0] != c.PID) != want {
				t.Fatalf("process %d calls itself %d", c.PID, c.Inside[0])
			}
			if want := c.Place == asNew; (c.MountNS != here) != want {
				t.Fatalf("process %d has mount namespace %d, this test %d", c.PID, c.MountNS, here)
			}
			checkContainedExec(t, tr, c)
			checkContainedOpens(t, tr, c)
			for _, pid := range []int{c.PID, c.Child} {
				p := process(t, tl, pid)
				if p.Exe != c.Exe || p.Comm() != c.Program || p.Cgroup != c.Cgroup || p.Unit == nil || p.Unit.Name != c.Service {
					t.Errorf("process %d: %s (%s) in cgroup %q, unit %+v; want %s (%s) in %q",
						pid, p.Exe, p.Comm(), p.Cgroup, p.Unit, c.Exe, c.Program, c.Cgroup)
				}
			}
			if p := process(t, tl, c.Child); int(p.PPID) != c.PID || p.Status == nil || *p.Status != 3<<8 {
				t.Errorf("process %d: child of %d, status %v, want %d and 3", c.Child, p.PPID, p.Status, c.PID)
			}
		})
	}
}

func checkContainedExec(t *testing.T, tr *trace, c contained) {
	t.Helper()
	execs := of[*event.Exec](tr, c.PID)
	if len(execs) != 2 { // the first is this test's own
		t.Fatalf("%d execs, want 2", len(execs))
	}
	x := execs[1]
	if p := tr.paths[x.Exe]; p == nil || p.Path() != c.Exe || uint64(p.MountNS) != c.MountNS || uint64(x.MountNS) != c.MountNS {
		t.Errorf("the program is %+v in mount namespace %d, want %q in %d", p, x.MountNS, c.Exe, c.MountNS)
	}
}

// checkContainedOpens compares what was opened with what the descriptors are. A program of another libc opens its
// libraries first.
func checkContainedOpens(t *testing.T, tr *trace, c contained) {
	t.Helper()
	for pid, want := range map[int][]string{c.PID: c.Opened, c.Child: c.Opened[:1]} {
		var paths []string
		for _, o := range of[*event.Open](tr, pid) {
			p := tr.paths[o.File]
			if o.Result < 0 || p == nil || !slices.Contains(c.Opened, p.Path()) {
				continue
			}
			paths = append(paths, p.Path())
			if uint64(p.MountNS) != c.MountNS {
				t.Errorf("%s: mount namespace %d, want %d", p.Path(), p.MountNS, c.MountNS)
			}
			if o.UserSP < c.Stack[0] || o.UserSP >= c.Stack[1] {
				t.Errorf("%s: stack pointer %#x is not in the stack, %#x", p.Path(), o.UserSP, c.Stack)
			}
		}
		if !slices.Equal(paths, want) {
			t.Errorf("process %d opened %q, want %q", pid, paths, want)
		}
	}
}

//go:build vmtest

package boottest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// heldBack makes the real init wait until all is attached: what it then starts is recorded from the first
// program on, however slow the machine is.
const heldBack = " bootscope.hold=100s "

// TestInit records a boot from the kernel's first process in the system's root on: an initramfs of the usual
// kind has found that before.
func TestInit(t *testing.T) {
	t.Parallel()
	b := &boot{name: "init", kernel: lean + heldBack + "init=/usr/bin/bootscope-init", install: []string{"--hold=100s", "--init", "--quiet=3s", "--sync=5s"}, prepare: plantLive}
	tr := b.early(t)
	if tr.manager == nil || tr.header.Start > tr.manager.Userspace {
		t.Errorf("all was attached at %d ns, systemd began: %+v", tr.header.Start, tr.manager)
	}
	if tr.header.Sync != 5e9 { // it began before the disk was there, with the options that are on it
		t.Errorf("the header says that it was brought onto the disk every %d ns", tr.header.Sync)
	}
	t.Run("programs", func(t *testing.T) { checkFirstPrograms(t, tr) })
	t.Run("live", func(t *testing.T) { checkLive(t, b) })
}

// early boots, and checks what is alike in each boot that is recorded from before systemd on: that it is
// whole, that the unit adopted the recorder, and that the next boot is an ordinary one.
func (b *boot) early(t *testing.T) *trace {
	t.Helper()
	b.run(t)
	checkReached(t, b)
	names := b.recordings(t)
	if len(names) != 1 {
		t.Fatalf("recordings: %v, want one; the log says:\n%s", names, linesWith(b.text(t, "out/journal"), "bootscope"))
	}
	tr := readTrace(t, names[0])
	if tr.trailer == nil || len(tr.problems) > 0 || !strings.Contains(tr.trailer.Reason, "no Python file") {
		t.Errorf("trailer %+v, problems %v", tr.trailer, tr.problems)
	}
	unit := tr.units["bootscope.service"]
	if unit == nil || unit.MainPID != tr.header.RecorderPID || unit.properties["ActiveState"] != "active" {
		t.Errorf("the recorder was process %d; its unit: %+v", tr.header.RecorderPID, unit)
	}
	if _, err := os.Lstat(filepath.Join(b.dir, "etc/systemd/system/sysinit.target.wants/bootscope.service")); err == nil {
		t.Error("the next boot would be recorded again")
	}
	if status := b.text(t, "out/status"); !strings.Contains(status, "recording since ") || !strings.Contains(status, "/var/lib/bootscope/") {
		t.Errorf("status said while it recorded:\n%s", status)
	}
	checkUnitExecs(t, tr)
	return tr
}

// checkUnitExecs compares with systemd's own list of the processes that it started: 98 % of them are
// recorded, from the first on.
func checkUnitExecs(t *testing.T, tr *trace) {
	seen, missing := 0, []string{}
	for name, u := range tr.units {
		pid, started := number(t, u.properties["ExecMainPID"]), number(t, u.properties["ExecMainStartTimestamp"])
		if pid == 0 || started <= tr.header.Start || started >= tr.trailer.End || uint32(pid) == tr.header.RecorderPID {
			continue
		}
		if len(tr.execs[uint32(pid)]) > 0 {
			seen++
		} else {
			missing = append(missing, name)
		}
	}
	t.Logf("%d of %d processes that systemd started are recorded", seen, seen+len(missing))
	if seen < 10 || seen*100 < (seen+len(missing))*98 {
		t.Errorf("missing: %v", missing)
	}
}

// checkFirstPrograms looks for the very first ones: the real init itself, in the first process, and the
// generators, which systemd starts before any unit.
func checkFirstPrograms(t *testing.T, tr *trace) {
	if len(tr.programs) == 0 || tr.programs[0].pid != 1 || !strings.HasSuffix(tr.programs[0].path, "/systemd") {
		t.Errorf("the first programs were %v, want systemd in process 1", tr.programs[:min(5, len(tr.programs))])
	}
	const generators = "/usr/lib/systemd/system-generators"
	found, err := os.ReadDir(filepath.Join(cache, "root", generators))
	if err != nil || len(found) < 5 {
		t.Fatalf("%d generators: %v", len(found), err)
	}
	for _, g := range found {
		ran := func(e executed) bool { return e.path == filepath.Join(generators, g.Name()) }
		if !slices.ContainsFunc(tr.programs, ran) {
			t.Errorf("%s is not recorded", g.Name())
		}
	}
}

// TestInitramfs records from the first process of the initramfs on, which removes everything that it is made
// of when it has found the system's root.
func TestInitramfs(t *testing.T) {
	t.Parallel()
	b := &boot{name: "initramfs", kernel: lean + heldBack + "rdinit=/bootscope-init", install: []string{"--hold=100s"}}
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b.initrd = archive("bootscope-init", data)
	tr := b.early(t)
	for _, path := range []string{"/init", "/usr/bin/run-init"} {
		if !slices.ContainsFunc(tr.programs, func(e executed) bool { return e.pid == 1 && e.path == path }) {
			t.Errorf("the first process has not executed %s; the first programs were %v", path, tr.programs[:min(20, len(tr.programs))])
		}
	}
	t.Logf("attached at %.1f s, the system's root was there at %.1f s", seconds(tr.header.Start), seconds(tr.manager.Userspace))
}

func seconds(ns uint64) float64 { return time.Duration(ns).Seconds() }

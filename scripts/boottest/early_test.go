//go:build vmtest

package boottest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// heldBack makes the real init wait until all is attached: what it then starts is recorded from the first
// program on, however slow the machine is.
const heldBack = " bootscope.hold=120s "

// TestInit records a boot from the kernel's first process in the system's root on: an initramfs of the usual
// kind has found that before.
func TestInit(t *testing.T) {
	t.Parallel()
	b := &boot{name: "init", kernel: lean + heldBack + "init=/usr/bin/bootscope-init", install: []string{"--hold=100s", "--init", "--sync=5s"}, prepare: plantLive}
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
	if len(tr.journal) == 0 {
		t.Error("the journal is not in the recording")
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
	b := &boot{name: "initramfs", kernel: lean + heldBack + "rdinit=/bootscope-init", install: []string{"--hold=100s"}, initrd: addProgram}
	tr := b.early(t)
	for _, path := range []string{"/usr/bin/sh", "/usr/bin/run-init"} { // /init is a script
		if !slices.ContainsFunc(tr.programs, func(e executed) bool { return e.pid == 1 && e.path == path }) {
			t.Errorf("the first process has not executed %s; the first programs were %v", path, tr.programs[:min(20, len(tr.programs))])
		}
	}
	t.Logf("attached at %.1f s, the system's root was there at %.1f s", seconds(tr.header.Start), seconds(tr.manager.Userspace))
}

// TestInitramfsDisarmed has the same kernel command line again, at the boot after the one that was to be
// recorded. The real init isn't held back.
func TestInitramfsDisarmed(t *testing.T) {
	t.Parallel()
	b := &boot{name: "initramfs-disarmed", kernel: lean + " rdinit=/bootscope-init", install: []string{}, initrd: addProgram, prepare: disarm}
	b.run(t)
	checkReached(t, b)
	if names := b.recordings(t); len(names) > 0 {
		t.Errorf("recordings: %v", names)
	}
	journal := b.text(t, "out/journal")
	if n := strings.Count(journal, "armed for one boot, which was recorded before: nothing was kept"); n != 1 {
		t.Errorf("%d lines say that nothing was kept; the log says:\n%s", n, linesWith(journal, "bootscope"))
	}
}

func disarm(root string) error {
	return os.Remove(filepath.Join(root, "etc/systemd/system/sysinit.target.wants/bootscope.service"))
}

// addProgram puts the program before the initramfs: the kernel unpacks one archive after the other.
func addProgram(own, name string) error {
	file, err := program()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	image, err := os.ReadFile(own)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(archive("bootscope-init", data), image...), 0o644)
}

//go:embed systemd-initramfs
var systemdInitramfs string

// TestSystemdInitramfs has systemd in the initramfs too: it kills what it leaves behind there. That boot has a
// phase more.
func TestSystemdInitramfs(t *testing.T) {
	t.Parallel()
	b := &boot{name: "systemd-initramfs", install: []string{"--hold=100s"}, initrd: withSystemd,
		kernel: lean + heldBack + "fsck.mode=skip rdinit=/bootscope-init"}
	tr := b.early(t)
	checkFirstPrograms(t, tr)
	checkPhases(t, b)
	t.Logf("attached at %.1f s, the system's root was there at %.1f s", seconds(tr.header.Start), seconds(tr.manager.Userspace))
}

func withSystemd(_, name string) error {
	file, err := program()
	if err != nil {
		return err
	}
	dir := name + "-files"
	cmd := exec.Command("sh", "-c", systemdInitramfs, "systemd-initramfs", filepath.Join(cache, "root"), dir, file)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("making an initramfs with systemd: %w: %s", err, stderr.String())
	}
	return errors.Join(os.WriteFile(name, out, 0o644), os.RemoveAll(dir))
}

var initrdTimes = regexp.MustCompile(`Startup finished in (.*) \(kernel\) \+ (.*) \(initrd\) \+ (.*) \(userspace\) = `)

// checkPhases compares the report's phases with those that systemd-analyze printed.
func checkPhases(t *testing.T, b *boot) {
	said := initrdTimes.FindStringSubmatch(b.text(t, "out/analyze-time"))
	if said == nil {
		t.Fatalf("systemd-analyze time says %q", b.text(t, "out/analyze-time"))
	}
	var report struct {
		Phases []struct {
			Name  string
			Start float64 `json:"start_s"`
			End   float64 `json:"end_s"`
		}
	}
	b.report(t, &report)
	names := []string{"kernel", "initrd", "userspace"}
	if len(report.Phases) != len(names) {
		t.Fatalf("the report's phases are %+v", report.Phases)
	}
	for i, p := range report.Phases {
		want, err := systemdTime(said[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if took := p.End - p.Start; p.Name != names[i] || max(took, want.Seconds())-min(took, want.Seconds()) > 0.01 {
			t.Errorf("phase %s took %.3f s; systemd-analyze says %v for %s", p.Name, took, want, names[i])
		}
	}
}

// report reads the report of the boot's one recording.
func (b *boot) report(t *testing.T, v any) {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(name, "report", "--json", b.recordings(t)[0]).Output()
	if err != nil {
		t.Fatalf("report --json: %v", err)
	}
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatal(err)
	}
}

func seconds(ns uint64) float64 { return time.Duration(ns).Seconds() }

//go:build linux && kerneltest

package record_test

import (
	"bytes"
	"path"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

// opensOf returns the opens of the command's first thread, from the first with that name.
func (tr *trace) opensOf(first []byte) (opens []*event.Open) {
	for _, e := range of[*event.Open](tr, int(tr.Header().CommandPID)) {
		if e.TID == e.PID && (len(opens) > 0 || bytes.Equal(e.TailBytes(), first)) {
			opens = append(opens, e)
		}
	}
	return opens
}

// TestOpensOfAllKinds makes each kind of open call that there is, with each kind of name and place.
func TestOpensOfAllKinds(t *testing.T) {
	tr, steps := openSteps.record(t, record.Options{}, t.TempDir())
	opens := tr.opensOf(steps[0].Name)
	if len(opens) != len(steps) {
		t.Errorf("%d opens in the trace, %d were made", len(opens), len(steps))
	}
	for i := range min(len(opens), len(steps)) {
		s, got := steps[i], opens[i]
		checkCall(t, s, got)
		if s.Result < 0 {
			checkName(t, s, got)
			checkMissingPath(t, s, tr.paths[got.Base])
		} else if p := tr.paths[got.File]; p == nil {
			t.Errorf("%s: there is no path with its id %d", s.About, got.File)
		} else {
			checkPath(t, s, p)
		}
	}
	checkNamespaces(t, tr, steps)
	t.Logf("%d opens compared", len(steps))
}

// TestOpensOfAllKindsWithoutBTF makes the same calls: there the names are as the caller wrote them.
func TestOpensOfAllKindsWithoutBTF(t *testing.T) {
	tr, steps := openSteps.record(t, record.Options{NoBTF: true}, t.TempDir())
	opens := tr.opensOf(steps[0].Name)
	if len(opens) != len(steps) {
		t.Errorf("%d opens in the trace, %d were made", len(opens), len(steps))
	}
	for i := range min(len(opens), len(steps)) {
		checkCall(t, steps[i], opens[i])
		checkName(t, steps[i], opens[i])
	}
	t.Logf("%d opens compared", len(steps))
}

// checkCall compares what doesn't depend on the path.
func checkCall(t *testing.T, s step, got *event.Open) {
	t.Helper()
	const large = 0o100000 // O_LARGEFILE, which the kernel adds for 64-bit callers
	if int(got.Result) != s.Result || got.Flags&^large != s.Flags&^large {
		t.Errorf("%s: result %d with flags %#x, want %d (%v) with %#x", s.About, got.Result, got.Flags, s.Result,
			syscall.Errno(max(-s.Result, 0)), s.Flags)
	}
	if lost := got.How&event.OpenNameLost != 0; lost != (s.About == "no name") {
		t.Errorf("%s: the name is lost: %v", s.About, lost)
	}
	if cut := got.How&event.OpenNameCut != 0; cut != (len(s.Name) > 4095) {
		t.Errorf("%s: the name is cut: %v, it has %d bytes", s.About, cut, len(s.Name))
	}
	if got.UserSP == 0 || got.UserSP>>63 != 0 {
		t.Errorf("%s: user stack pointer %#x", s.About, got.UserSP)
	}
}

// checkName compares the name that the caller gave.
func checkName(t *testing.T, s step, got *event.Open) {
	t.Helper()
	if want := s.Name[:min(len(s.Name), 4095)]; !bytes.Equal(got.TailBytes(), want) {
		t.Errorf("%s: the name is %.200q, want %.200q", s.About, got.TailBytes(), want)
	}
}

// checkMissingPath compares where a name would have led that could not be opened. base is the directory
// that it starts from.
func checkMissingPath(t *testing.T, s step, base *event.Path) {
	t.Helper()
	got := string(s.Name)
	if base != nil && base.Path() != "" && got != "" {
		got = path.Join(base.Path(), got)
	}
	if want := s.Path; got != string(want) && got != path.Clean(string(want)) {
		t.Errorf("%s: the path is %.200q, want %.200q", s.About, got, want)
	}
}

// checkPath compares a path, of which only the end is there if it was too long.
func checkPath(t *testing.T, s step, got *event.Path) {
	t.Helper()
	want, cut := string(s.Path), strings.Count(string(s.Path), "/") > 64 || len(s.Path) > 4095
	if want == noPath {
		want = ""
	}
	if cut {
		names := strings.Split(want, "/")
		names = names[len(names)-min(len(names), 64):]
		for len(strings.Join(names, "/")) > 4094 {
			names = names[1:]
		}
		want = event.CutMark + "/" + strings.Join(names, "/")
	}
	if got.Path() != want || (got.Flags&event.PathCut != 0) != cut {
		t.Errorf("%s: the path is %.200q (%d bytes, flags %d), want %.200q (%d bytes, cut: %v)",
			s.About, got.Path(), len(got.Path()), got.Flags, want, len(want), cut)
	}
	// An overlay shows other numbers than its inodes have.
	if device := unix.Mkdev(got.Device>>20, got.Device&(1<<20-1)); (got.Inode != s.Inode || device != s.Device) && !strings.Contains(s.About, "overlay") {
		t.Errorf("%s: inode %d of device %#x, fstat says %d of %#x", s.About, got.Inode, device, s.Inode, s.Device)
	}
}

// checkNamespaces checks that a path tells in which namespace of mounts it is true.
func checkNamespaces(t *testing.T, tr *trace, steps []step) {
	t.Helper()
	namespaces := map[string]uint64{}
	for _, p := range of[*event.Path](tr, int(tr.Header().CommandPID)) {
		namespaces[p.Path()] = uint64(p.MountNS)
	}
	seen := map[uint64]bool{}
	for _, s := range steps {
		if s.About == "created" || s.About == "in a mount inside a mount" {
			seen[s.Namespace] = true
			if got := namespaces[string(s.Path)]; got != s.Namespace {
				t.Errorf("%s: mount namespace %d, want %d", s.About, got, s.Namespace)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d mount namespaces in this test, want 2", len(seen))
	}
}

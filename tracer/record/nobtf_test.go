//go:build linux && kerneltest

package record_test

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// TestStatuses checks what is told of each probe, with the kernel's types and without.
func TestStatuses(t *testing.T) {
	with, _ := runWhole(t, record.Options{Command: []string{"true"}})
	for _, p := range with.Header().Probes {
		if p.Status == tracefile.StatusOff && !strings.Contains(p.Reason, "idle") || p.Status != tracefile.StatusOff && p.Via == "" {
			t.Errorf("probe %s: %+v", p.Name, p)
		}
	}
	without, _ := runWhole(t, record.Options{NoBTF: true, Command: []string{"true"}})
	for _, id := range []event.Probe{event.ProbeSched, event.ProbeProcess, event.ProbeOpen} {
		p := without.probe(t, id)
		if p.Status != tracefile.StatusLesser || !strings.Contains(p.Reason, "no BTF: ") || !strings.Contains(p.Reason, "--no-btf") {
			t.Errorf("without BTF, probe %s: %+v; want it lesser, what it lacks, and why", id, p)
		}
	}
	if p := without.probe(t, event.ProbeFault); p.Status != tracefile.StatusOn {
		t.Errorf("without BTF, faults: %+v; they lack nothing", p)
	}
}

// TestWithoutTracefs records where tracefs is not mounted, as in an initramfs: it is mounted if it is needed.
func TestWithoutTracefs(t *testing.T) {
	for _, noBTF := range []bool{false, true} {
		o := record.Options{NoBTF: noBTF, Output: output(t), Command: []string{"grep", "tracefs", "/proc/self/mounts"}}
		s := setupOf(o)
		s.Unmount = []string{"/sys/kernel/tracing", "/sys/kernel/debug"}
		cmd := s.recorder(t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		r := run(t, cmd)
		if r.status != 0 && (noBTF || r.status != 1) { // grep has found it where it is needed
			t.Fatalf("no BTF: %v; status %d: %s", noBTF, r.status, r.stderr)
		}
		tr := readWhole(t, o.Output)
		if len(of[*event.Open](tr, int(tr.Header().CommandPID))) == 0 || tr.switches == 0 {
			t.Errorf("no BTF: %v; no opens or switches were recorded: %+v", noBTF, tr.Header().Probes)
		}
	}
}

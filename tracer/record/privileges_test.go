//go:build linux && kerneltest

package record_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// nobody is the user and group that have nothing.
const nobody = 65534

// asNobody makes a command run as an ordinary user with some capabilities, in a directory of that user.
func asNobody(t *testing.T, cmd *exec.Cmd, capabilities ...uintptr) {
	t.Helper()
	dir := filepath.Dir(cmd.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
		AmbientCaps: capabilities,
	}
	cmd.Dir = dir
}

// publicRecorder returns a recorder that an ordinary user can run, whose output goes to that user's directory.
func publicRecorder(t *testing.T, o record.Options) (*exec.Cmd, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "bootscope-public-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile(self())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/recorder", string(program), 0o755)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	o.Output = dir + "/t.bst"
	cmd := recorder(t, o)
	cmd.Path = dir + "/recorder"
	cmd.Args[0] = cmd.Path
	return cmd, o.Output
}

// TestWithoutPrivileges is refused in words, before there is a file.
func TestWithoutPrivileges(t *testing.T) {
	for _, tt := range []struct {
		name         string
		capabilities []uintptr
		want         []string
	}{
		{"none", nil, []string{"CAP_BPF and CAP_PERFMON", "root", "setcap cap_bpf,cap_perfmon"}},
		{"half", []uintptr{39}, []string{"recording needs CAP_PERFMON:"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd, output := publicRecorder(t, record.Options{Command: []string{"true"}})
			asNobody(t, cmd, tt.capabilities...)
			r := run(t, cmd)
			for _, want := range tt.want {
				if r.status != 1 || !strings.Contains(r.stderr, want) {
					t.Errorf("status %d, the recorder says %q, want %q in it", r.status, r.stderr, want)
				}
			}
			if found, _ := filepath.Glob(output + "*"); len(found) > 0 {
				t.Errorf("files are left: %v", found)
			}
		})
	}
}

// TestWithAdvisedCapabilities follows the advice of the message: the recorder gets these capabilities and
// no more, and everything is recorded.
func TestWithAdvisedCapabilities(t *testing.T) {
	const sysPtrace, dacReadSearch, bpf, perfmon = 19, 2, 39, 38
	cmd, output := publicRecorder(t, record.Options{Command: []string{"sh", "-c", "exit 4"}})
	asNobody(t, cmd, bpf, perfmon, sysPtrace, dacReadSearch)
	r := run(t, cmd)
	if r.status != 4 {
		t.Fatalf("status %d, want the command's 4: %s", r.status, r.stderr)
	}
	tr := readWhole(t, output)
	for _, p := range tr.Header().Probes {
		if p.Status == tracefile.StatusOff && !strings.Contains(p.Reason, "kernel has no") {
			t.Errorf("probe %s is off: %s", p.Name, p.Reason)
		}
	}
	pid := int(tr.Header().CommandPID)
	if len(of[*event.Exec](tr, pid)) != 1 || len(of[*event.Args](tr, pid)) != 1 || len(of[*event.Open](tr, pid)) == 0 || tr.switches == 0 {
		t.Errorf("the command has %d execs, %d argument lists, %d opens; there are %d switches", len(of[*event.Exec](tr, pid)),
			len(of[*event.Args](tr, pid)), len(of[*event.Open](tr, pid)), tr.switches)
	}
	exe := ""
	for _, task := range of[*event.Task](tr, os.Getpid()) {
		exe, _ = task.ExeAndArgv()
		break
	}
	if exe != self() {
		t.Errorf("the program of a process of another user is %q, want %q", exe, self())
	}
}

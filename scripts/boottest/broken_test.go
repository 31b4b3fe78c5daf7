//go:build vmtest

package boottest

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lean leaves out what takes long to start, where the boot itself is not what is to be seen.
const lean = "systemd.mask=firewalld.service systemd.mask=fail2ban.service systemd.mask=networkd-dispatcher.service " +
	"systemd.mask=unattended-upgrades.service systemd.mask=net-wait.service systemd.mask=heavy-api.service " +
	"systemd.mask=fork-app.service systemd.mask=late-server.service systemd.mask=back-off.service systemd.mask=auditd.service"

// A breakage is a way in which the recorder can fail.
type breakage struct {
	name    string
	dropIn  string // changes the unit
	fstab   string // more of it
	remove  string // a file of the image that is missing
	kernel  string // more of the kernel's command line
	install []string
	// log is what the log says about it, in one line.
	log string
	// recorded: a recording is there all the same, if complete with its end.
	recorded, complete bool
}

var breakages = []breakage{
	{name: "no-bpf", dropIn: "SystemCallFilter=~bpf\n", log: `bootscope\[\d+\]: bootscope: .*not permitted`},
	{name: "no-capabilities", dropIn: "CapabilityBoundingSet=\n", log: `bootscope\[\d+\]: bootscope: recording needs CAP_BPF and CAP_PERFMON`},
	{name: "no-btf", dropIn: "InaccessiblePaths=/sys/kernel/btf\n", recorded: true, complete: true,
		log: `bootscope\[\d+\]: bootscope: .*: recorded .* written to`},
	{name: "killed", dropIn: "ExecStartPost=/bin/kill -KILL $MAINPID\n", log: `bootscope.service: Main process exited, code=killed, status=9/KILL`},
	{name: "hung", dropIn: "ExecStart=\nExecStart=/bin/sh -c 'kill -STOP $$$$'\nTimeoutStartSec=5\n",
		log: `bootscope.service: start operation timed out`},
	{name: "read-only", fstab: "tmpfs /var/lib/bootscope tmpfs ro 0 0\n",
		log: `bootscope\[\d+\]: bootscope: nothing was saved: .*read-only file system`},
	{name: "full-disk", fstab: "tmpfs /var/lib/bootscope tmpfs size=64k 0 0\n",
		log: `bootscope\[\d+\]: bootscope: recording ended early: .*no space left on device`},
	// The initramfs sees that this init can't be executed.
	{name: "no-program", install: []string{"--init"}, remove: "usr/lib/bootscope/bootscope", kernel: " init=/usr/bin/bootscope-init",
		log: `bootscope.service: Main process exited, code=exited, status=203/EXEC`},
}

// TestBroken breaks the recorder: the boot reaches its target, and the log says one clear line.
func TestBroken(t *testing.T) {
	for _, broken := range breakages {
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel() // a guest takes one CPU
			b := &boot{name: "broken-" + broken.name, kernel: lean + broken.kernel, prepare: broken.prepare,
				install: append([]string{"--hold=100s", "--quiet=3s", "--every-boot"}, broken.install...)}
			b.run(t)
			checkReached(t, b)
			journal := b.text(t, "out/journal")
			if n := len(regexp.MustCompile(broken.log).FindAllString(journal, -1)); n != 1 {
				t.Errorf("%d lines of the log match %q; it says:\n%s", n, broken.log, linesWith(journal, "bootscope"))
			}
			names := b.recordings(t)
			if !broken.recorded {
				return
			}
			if len(names) != 1 {
				t.Fatalf("recordings: %v, want one", names)
			}
			if tr := readTrace(t, names[0]); broken.complete && tr.trailer == nil {
				t.Error("the recording has no end")
			}
		})
	}
}

// prepare breaks it.
func (k breakage) prepare(root string) error {
	dir := filepath.Join(root, "etc/systemd/system/bootscope.service.d")
	err := os.MkdirAll(dir, 0o755)
	if k.dropIn != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "broken.conf"), []byte("[Service]\n"+k.dropIn), 0o644))
	}
	if k.remove != "" {
		err = errors.Join(err, os.Remove(filepath.Join(root, k.remove)))
	}
	fstab, openErr := os.OpenFile(filepath.Join(root, "etc/fstab"), os.O_APPEND|os.O_WRONLY, 0)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	_, writeErr := fstab.WriteString(k.fstab)
	return errors.Join(err, writeErr, fstab.Close())
}

// checkReached tests that the boot came where it comes without a recorder, and that no unit failed for it.
func checkReached(t *testing.T, b *boot) {
	t.Helper()
	if journal := b.text(t, "out/journal"); !strings.Contains(journal, "Reached target multi-user.target") {
		t.Errorf("multi-user.target was not reached; the end of %s:\n%s", b.console(), b.consoleTail())
	}
	if splat := linesWith(b.text(t, "out/journal"), "Call Trace"); splat != "" {
		t.Errorf("the kernel says: %s", splat)
	}
}

func linesWith(text, part string) string {
	var found strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found.WriteString(line)
		}
	}
	return found.String()
}

// streamed says on the console when more than the start of the recording has been on the disk for some
// times --sync.
const streamed = `[Unit]
Description=Watch the recording grow
[Service]
ExecStart=/bin/sh -c 'until [ "$(cat /var/lib/bootscope/*.partial-* 2>/dev/null | wc -c)" -gt 65536 ]; do sleep 1; done; \
	sleep 8; echo the recording is on the disk >/dev/kmsg'
`

// TestPowerCut switches the machine off in the middle of the boot.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	b := &boot{name: "power-cut", install: []string{"--hold=100s", "--sync=2s", "--quiet=1m"},
		prepare: func(root string) error { return addService(root, "streamed.service", streamed) },
		cut:     "the recording is on the disk"}
	b.run(t)
	names := b.recordings(t)
	if len(names) != 1 || !strings.Contains(names[0], ".partial-") {
		t.Fatalf("recordings: %v, want one that was cut off; the end of %s:\n%s", names, b.console(), b.consoleTail())
	}
	tr := readTrace(t, names[0])
	if tr.trailer != nil || tr.events < 1000 || len(tr.execs) < 10 {
		t.Errorf("trailer %v, %d events, %d processes that called exec", tr.trailer, tr.events, len(tr.execs))
	}
	t.Logf("%d events, %d processes, up to %.1f s", tr.events, len(tr.execs), float64(tr.last)/1e9)
	if _, err := os.Lstat(filepath.Join(b.dir, "etc/systemd/system/sysinit.target.wants/bootscope.service")); err == nil {
		t.Error("the next boot would be recorded again")
	}
}

// addService adds a unit that multi-user.target wants.
func addService(root, name, text string) error {
	file := filepath.Join("/etc/systemd/system", name)
	link := filepath.Join(root, "etc/systemd/system/multi-user.target.wants", name)
	return errors.Join(os.WriteFile(filepath.Join(root, file), []byte(text), 0o644), os.MkdirAll(filepath.Dir(link), 0o755),
		os.Symlink(file, link))
}

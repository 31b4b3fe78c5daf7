//go:build vmtest

package boottest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The root stays read-only, and where recordings go is mounted only when no more fits into the recorder's
// memory: a slow disk. Both are in memory here, so that the guest can write to them at all.
const (
	readOnlyMounts = `/dev/vda / ext4 ro 0 1
tmpfs /out tmpfs defaults 0 0
tmpfs /var/lib/bootscope tmpfs nofail,x-systemd.requires=slow-disk.service 0 0
`
	slowDiskUnit = `[Unit]
Description=A disk that comes when it is too late

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'until journalctl -b -u bootscope.service | grep -q "the recording ends here"; do sleep 2; done'
`
	// recordAgain does what the next boot does, which is still armed.
	recordAgain = `#!/bin/sh
ls -l /etc/systemd/system/sysinit.target.wants/bootscope.service
cp -a /var/lib/bootscope /out/recordings
systemctl restart bootscope.service
while [ "$(systemctl is-active bootscope.service)" != inactive ]; do sleep 2; done
ls -A /var/lib/bootscope >/out/files-again
`
)

// TestReadOnly records one boot of a system that can't disarm itself, into less memory than it takes.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := &boot{name: "read-only-root", kernel: lean, prepare: plantReadOnly, install: []string{"--hold=100s", "--memory=200000"}}
	b.run(t)
	checkReached(t, b)
	journal := b.text(t, "out/journal")
	for _, want := range []string{"/var/lib/bootscope is in memory (tmpfs)", "armed for one boot, which was recorded before: nothing was kept"} {
		if n := strings.Count(journal, want); n != 1 {
			t.Errorf("%d lines of the log say %q, want one; it says:\n%s", n, want, linesWith(journal, "bootscope"))
		}
	}
	said := b.text(t, "out/afterwards")
	if !strings.Contains(said, "bootscope.service -> ../bootscope.service") {
		t.Errorf("a root that can't be written was disarmed:\n%s", said)
	}
	names, err := filepath.Glob(filepath.Join(b.dir, "out/recordings/2*.bst"))
	if err != nil || len(names) != 1 {
		t.Fatalf("recordings: %v (%v), want one; the log says:\n%s", names, err, linesWith(journal, "bootscope"))
	}
	if again := strings.Fields(b.text(t, "out/files-again")); len(again) != 3 { // it, the link to it, the mark
		t.Errorf("the second recording left something: %v", again)
	}
	tr := readTrace(t, names[0])
	if tr.trailer == nil || !strings.Contains(tr.trailer.Reason, "/var/lib/bootscope was not writable until 0.2 MB waited in memory") {
		t.Fatalf("the recording doesn't say that it is cut short: %+v", tr.trailer)
	}
	if tr.events < 1000 || len(tr.execs) < 10 {
		t.Errorf("%d events, %d processes that called exec", tr.events, len(tr.execs))
	}
}

func plantReadOnly(root string) error {
	files := map[string]string{
		"etc/fstab":                            readOnlyMounts,
		"etc/systemd/system/slow-disk.service": slowDiskUnit,
		"usr/local/bin/afterwards":             recordAgain,
	}
	errs := []error{os.MkdirAll(filepath.Join(root, "out"), 0o755)}
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(root, name), []byte(text), 0o755))
	}
	return errors.Join(errs...)
}

//go:build vmtest

package boottest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// liveProgram installs on the running system, records, and uninstalls. It lists all files before and after.
const liveProgram = `#!/bin/sh
set -e
cp /usr/lib/bootscope/bootscope /root/bootscope-live
bootscope=/root/bootscope-live
files() { find / -xdev -not -path '/var/log/*' -not -path '/tmp*' -not -path '/var/tmp*' -not -path '/out*' | sort; }
echo "== refused"
! $bootscope uninstall --keep-recordings 2>&1 # the kernel's command line names it
$bootscope uninstall --keep-recordings --force
files >/out/files-before
echo "== install"
$bootscope install --init --hold 100s --quiet 10m --dir /var/lib/more-boots --milestone 'a b=journal:x.service:it is'
echo "== status"
$bootscope status
echo "== systemd"
systemctl is-enabled bootscope.service
systemctl start bootscope.service
systemctl is-active bootscope.service
echo "== recording"
until $bootscope status; do sleep 1; done
echo "== stop"
$bootscope stop
echo "== stopped"
$bootscope status
ls -l /usr/bin/bootscope-init /var/lib/more-boots
echo "== uninstall"
$bootscope uninstall --force
files >/out/files-after
echo "== uninstalled"
systemctl cat bootscope.service 2>&1 || true
$bootscope status
`

func plantLive(root string) error {
	return os.WriteFile(filepath.Join(root, "usr/local/bin/afterwards"), []byte(liveProgram), 0o755)
}

// checkLive tests that the running system's systemd took note of each step, and that nothing is left.
func checkLive(t *testing.T, b *boot) {
	before, after := strings.Split(b.text(t, "out/files-before"), "\n"), strings.Split(b.text(t, "out/files-after"), "\n")
	if d := difference(after, before); len(d) > 0 {
		t.Errorf("uninstall left %v", d)
	}
	if d := difference(before, after); len(d) > 0 {
		t.Errorf("uninstall removed %v", d)
	}
	text := b.text(t, "out/afterwards")
	said := map[string]string{}
	for _, part := range strings.Split(text, "== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		said[name] = rest
	}
	for _, c := range []struct{ step, want string }{
		{"refused", "this system was booted with init=/usr/bin/bootscope-init"},
		{"install", "the next boot will be recorded in /var/lib/more-boots"},
		{"status", "nothing is being recorded\nnext boot: will be recorded\n"},
		{"systemd", "enabled\nactive\n"},
		{"recording", "recording since "},
		{"recording", "next boot: will not be recorded"}, // it was armed for one
		{"stop", "/var/lib/more-boots/"},
		{"stopped", "latest:    /var/lib/more-boots/"},
		{"stopped", "/usr/bin/bootscope-init -> ../lib/bootscope/bootscope"},
		{"uninstall", "removed /usr/bin/bootscope-init"},
		{"uninstalled", "No files found for bootscope.service"},
		{"uninstalled", "next boot: will not be recorded: not installed"},
	} {
		if !strings.Contains(said[c.step], c.want) {
			t.Errorf("%s doesn't say %q; all that was said:\n%s", c.step, c.want, text)
			return
		}
	}
}

// difference lists what is in a and not in b.
func difference(a, b []string) (only []string) {
	has := map[string]bool{}
	for _, name := range b {
		has[name] = true
	}
	for _, name := range a {
		if !has[name] {
			only = append(only, name)
		}
	}
	return only
}

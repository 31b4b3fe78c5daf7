//go:build vmtest

package boottest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// cache is where the root file system and the last run of each test are kept.
var cache = filepath.Join("..", "..", "build", "boottest")

const suite = "bookworm"

// packages are what the guest has: a kernel, systemd, and Python programs that start at every boot of
// many a Debian.
var packages = []string{
	"linux-image-amd64", "initramfs-tools", "zstd", "systemd", "systemd-sysv", "udev", "dbus", "kmod", "procps",
	"iproute2", "netbase", "auditd", "python3", "python3-systemd", "firewalld", "fail2ban", "networkd-dispatcher",
	"unattended-upgrades", "python3-fastapi", "python3-pydantic",
}

// Units that the packages bring. The journal takes no audit records: the witness is dear enough. networkd's
// own wait would be two minutes; net-wait stands for it.
var (
	enabled = []string{"systemd-networkd.service"}
	masked  = []string{"systemd-journald-audit.socket", "systemd-networkd-wait-online.service"}
)

//go:embed guest
var guestFiles embed.FS

const (
	imageSize = "1500M"
	// unneeded is what no program of the guest reads.
	unneeded = "--dpkgopt=path-exclude=/usr/share/doc/* --dpkgopt=path-exclude=/usr/share/man/* " +
		"--dpkgopt=path-exclude=/usr/share/locale/*"
)

// An image is a disk to boot from, with its kernel beside it.
type image struct{ disk, kernel, initrd string }

// baseImage is the guest without bootscope. It is built when what it is built of has changed.
var baseImage = sync.OnceValues(func() (*image, error) {
	dir, err := filepath.Abs(cache)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "root")
	img := &image{filepath.Join(dir, "base.ext4"), filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "initrd")}
	made, err := whole(root, hash(packages), func() error { return bootstrap(root) })
	if err != nil {
		return nil, err
	}
	sum, err := hashFiles(guestFiles)
	if err != nil {
		return nil, err
	}
	_, err = whole(img.disk, hash(slices.Concat([]string{made, sum, imageSize}, enabled, masked)), func() error { return img.build(root) })
	return img, err
})

// whole makes a file or directory unless it is there, made of the same. A mark beside it, written last,
// tells of what.
func whole(name, of string, build func() error) (string, error) {
	mark := name + ".made-of"
	if was, err := os.ReadFile(mark); err == nil && string(was) == of {
		return of, nil
	}
	if err := errors.Join(os.RemoveAll(mark), os.RemoveAll(name), os.MkdirAll(filepath.Dir(name), 0o755)); err != nil {
		return "", err
	}
	if err := build(); err != nil {
		return "", err
	}
	return of, os.WriteFile(mark, []byte(of), 0o644)
}

// bootstrap makes the root file system of packages alone.
func bootstrap(root string) error {
	mirror, err := machineMirror()
	if err != nil {
		return err
	}
	args := []string{"--mode=root", "--variant=minbase", "--include=" + strings.Join(packages, ","),
		`--aptopt=APT::Install-Recommends "false"`, `--aptopt=Acquire::Check-Valid-Until "false"`}
	args = append(args, strings.Fields(unneeded)...)
	return run("mmdebstrap", append(args, suite, root, fmt.Sprintf("deb %s %s main", mirror, suite))...)
}

// machineMirror is where this machine gets Debian from.
func machineMirror() (string, error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("ask apt for its mirrors: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if label, uri, _ := strings.Cut(strings.TrimSpace(line), " "); label == "Debian" {
			return uri, nil
		}
	}
	return "", errors.New("this machine's apt knows no Debian mirror: run apt-get update on a Debian system")
}

// build makes the disk: the packages' root, and the guest's own files.
func (img *image) build(root string) error {
	for pattern, name := range map[string]string{"boot/vmlinuz-*": img.kernel, "boot/initrd.img-*": img.initrd} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%d files are %s in %s, one expected (%v)", len(found), pattern, root, err)
		}
		if err := run("cp", found[0], name); err != nil {
			return err
		}
	}
	if err := run("mke2fs", "-q", "-t", "ext4", "-d", root, img.disk, imageSize); err != nil {
		return err
	}
	return mounted(img.disk, func(dir string) error {
		if err := copyGuest(dir); err != nil {
			return err
		}
		return enable(dir)
	})
}

// copyGuest puts the planted services and the witnesses' set-up into the root.
func copyGuest(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "var/lib/truth"), 0o755); err != nil {
		return err
	}
	return fs.WalkDir(guestFiles, "guest", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := guestFiles.ReadFile(path)
		if err != nil {
			return err
		}
		name, perm := strings.TrimPrefix(path, "guest/"), fs.FileMode(0o644)
		if strings.HasPrefix(name, "usr/local/bin/") {
			perm = 0o755
		}
		target := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, data, perm))
	})
}

// enable makes the planted services start at boot.
func enable(dir string) error {
	services, err := fs.Glob(guestFiles, "guest/etc/systemd/system/*.service")
	if err != nil {
		return err
	}
	names := slices.Clone(enabled)
	for _, s := range services {
		names = append(names, filepath.Base(s))
	}
	systemctl := []string{"--root=" + dir, "--quiet"}
	return errors.Join(run("systemctl", slices.Concat(systemctl, []string{"enable"}, names)...),
		run("systemctl", slices.Concat(systemctl, []string{"mask"}, masked)...))
}

// mounted gives use the files of an ext4 image.
func mounted(disk string, use func(dir string) error) error {
	dir, err := os.MkdirTemp("", "boottest-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	if err := run("mount", "-o", "loop", disk, dir); err != nil {
		return err
	}
	return errors.Join(use(dir), run("umount", dir))
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func hash(parts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func hashFiles(files fs.FS) (string, error) {
	var parts []string
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		parts = append(parts, path, string(data))
		return err
	})
	return hash(parts), err
}

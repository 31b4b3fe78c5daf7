//go:build vmtest

package idletest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bootLimit is how long the guest may take, from QEMU's start to its end.
const bootLimit = 12 * time.Minute

// run runs a command in a directory and fails the test with what it said.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// kernel downloads and unpacks the kernel that this machine's suite has, and a static busybox; once.
func kernel(t *testing.T, dir string) (root string) {
	t.Helper()
	root = filepath.Join(dir, "root")
	if _, err := os.Stat(filepath.Join(root, "complete")); err == nil {
		return root
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	image := ""
	for line := range strings.Lines(run(t, dir, "apt-cache", "depends", "--important", "linux-image-amd64")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok {
			image = name
		}
	}
	run(t, dir, "apt-get", "-q", "download", image, "busybox-static")
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		run(t, dir, "dpkg-deb", "-x", p, root)
		os.Remove(p)
	}
	run(t, root, "touch", "complete") // last: it says that the rest is there
	return root
}

// find returns the file below root whose folder and name match a pattern.
func find(t *testing.T, root, name string) (found string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		end := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
		if ok, _ := path.Match(name, end); ok && err == nil && entry.Type().IsRegular() {
			found = file
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("%s is not in %s: %v", name, root, err)
	}
	return found
}

// initramfs packs the guest's first file system.
func initramfs(t *testing.T, dir, root string) string {
	t.Helper()
	guest := t.TempDir()
	for file, source := range map[string]string{
		"init":                    "guest/init",
		"bin/busybox":             find(t, root, "bin/busybox"),
		"modules/acpi-cpufreq.ko": find(t, root, "cpufreq/acpi-cpufreq.ko*"),
	} {
		data, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(source, ".xz") {
			data = []byte(run(t, dir, "xz", "-dc", source))
		}
		target := filepath.Join(guest, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, data, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, ".", "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(guest, "bin/bootscope"), "../../cmd/bootscope")
	file := filepath.Join(dir, "initramfs")
	run(t, guest, "sh", "-c", `find . | cpio -o -H newc --quiet > "$0"`, file)
	return file
}

// boot runs the guest until it powers itself off, and returns the files that it left.
func boot(t *testing.T) map[string]string {
	t.Helper()
	for _, needs := range []string{"qemu-system-x86_64", "iasl", "cpio"} {
		if _, err := exec.LookPath(needs); err != nil {
			t.Skipf("%s is not installed (packages qemu-system-x86, acpica-tools, cpio)", needs)
		}
	}
	dir, err := filepath.Abs("../../build/vm/idle")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := kernel(t, dir)
	run(t, ".", "iasl", "-p", filepath.Join(dir, "cpufreq"), "guest/cpufreq.asl")
	console, results := filepath.Join(dir, "console.log"), filepath.Join(dir, "results.tar.gz")
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-machine", "q35", "-cpu", "Nehalem",
		"-accel", "tcg,thread=single", "-smp", "2", "-m", "1024", "-nodefaults", "-display", "none", "-no-reboot",
		"-serial", "file:"+console, "-serial", "null", "-serial", "null", "-serial", "file:"+results,
		"-acpitable", "file="+filepath.Join(dir, "cpufreq.aml"),
		"-kernel", find(t, root, "boot/vmlinuz-*"), "-initrd", initramfs(t, dir, root),
		"-append", "console=ttyS0 panic=-1 oops=panic mitigations=off no_timer_check")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s\n%s", cmd, err, out, tail(console))
	}
	files, err := readResults(results)
	if err == nil && files["done"] == "" {
		err = errors.New("the guest ended before it was done")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(console))
	}
	return files
}

func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func readResults(name string) (map[string]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the guest's results: %w", err)
	}
	unzipped.Multistream(false) // the port may send more
	files := map[string]string{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the guest's results: %w", err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("the guest's %s: %w", h.Name, err)
		}
		files[path.Clean(h.Name)] = string(text)
	}
}

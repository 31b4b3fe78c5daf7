//go:build vmtest

package boottest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// bootLimit is how long a boot may take, from QEMU's start to its end.
const bootLimit = 15 * time.Minute

// A boot is one run of the guest.
type boot struct {
	name    string
	install []string           // arguments of bootscope install; nil boots without it
	prepare func(string) error // changes the root before it boots; may be nil
	kernel  string             // more of the kernel's command line
	// initrd makes the initramfs to boot; nil boots the image's own.
	initrd func(own, name string) error
	// cut ends the machine, as a power cut does, once its console shows this; "" waits for its own end.
	cut string

	dir  string // where everything of this boot goes
	took time.Duration
}

// kept are the directories of the guest that are looked at after the boot.
var kept = []string{"out", "var/lib/bootscope", "var/lib/truth", "var/log/audit", "etc/systemd/system/sysinit.target.wants"}

// run boots a fresh copy of the image and takes the kept files off it.
func (b *boot) run(t *testing.T) {
	t.Helper()
	img, err := baseImage()
	if err != nil {
		t.Fatalf("build the image: %v", err)
	}
	if b.dir, err = filepath.Abs(filepath.Join(cache, b.name)); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(b.dir, "disk.ext4")
	if err := errors.Join(os.RemoveAll(b.dir), os.MkdirAll(b.dir, 0o755), run("cp", "--sparse=always", img.disk, disk)); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(disk) // it is large
	if err := mounted(disk, b.setUp); err != nil {
		t.Fatal(err)
	}
	if err := b.qemu(img, disk); err != nil {
		t.Fatalf("%v; the end of %s:\n%s", err, b.console(), b.consoleTail())
	}
	if err := mounted(disk, b.keep); err != nil {
		t.Fatal(err)
	}
	t.Logf("booted and done in %.1f s", b.took.Seconds())
}

func (b *boot) setUp(root string) error {
	if b.install != nil {
		program, err := program()
		if err != nil {
			return err
		}
		if err := run(program, append([]string{"install", "--root", root}, b.install...)...); err != nil {
			return err
		}
	}
	if b.prepare != nil {
		return b.prepare(root)
	}
	return nil
}

// program is the static binary, built when first asked for.
var program = sync.OnceValues(func() (string, error) {
	name, err := filepath.Abs(filepath.Join(cache, "bootscope"))
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", name, "../../cmd/bootscope")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	return name, nil
})

// initramfs is the one to boot.
func (b *boot) initramfs(img *image) (string, error) {
	if b.initrd == nil {
		return img.initrd, nil
	}
	name := filepath.Join(b.dir, "initrd")
	return name, b.initrd(img.initrd, name)
}

func (b *boot) qemu(img *image, disk string) error {
	initramfs, err := b.initramfs(img)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-machine", "q35", "-cpu", "Nehalem",
		// One thread for both CPUs: see scripts/vmtest.
		"-accel", "tcg,thread=single", "-smp", "2", "-m", "1024", "-nodefaults", "-display", "none", "-no-reboot",
		"-serial", "file:"+b.console(),
		"-drive", "if=virtio,format=raw,cache=unsafe,file="+disk, "-kernel", img.kernel, "-initrd", initramfs,
		"-append", "root=/dev/vda ro console=ttyS0 panic=-1 oops=panic mitigations=off no_timer_check "+b.kernel)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	cut := b.cut != "" && b.await(b.cut, ended)
	if cut {
		cmd.Process.Kill()
	}
	err = <-ended
	b.took = time.Since(start)
	switch {
	case cut:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the guest was not done after %v", bootLimit)
	case err != nil:
		return fmt.Errorf("qemu-system-x86_64: %w: %s", err, stderr.String())
	case b.cut != "":
		return fmt.Errorf("the guest ended without showing %q", b.cut)
	}
	return nil
}

// await waits until the console shows a text, and tells whether it did before the machine ended.
func (b *boot) await(text string, ended chan error) bool {
	for {
		if shown, _ := os.ReadFile(b.console()); strings.Contains(string(shown), text) {
			return true
		}
		select {
		case err := <-ended:
			ended <- err
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (b *boot) console() string { return filepath.Join(b.dir, "console.log") }

func (b *boot) consoleTail() string {
	text, err := os.ReadFile(b.console())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// keep copies what is looked at afterwards.
func (b *boot) keep(root string) error {
	for _, name := range kept {
		from := filepath.Join(root, name)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		to := filepath.Join(b.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), run("cp", "-a", from, to)); err != nil {
			return err
		}
	}
	return nil
}

// text is a kept file, which has to be there.
func (b *boot) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatalf("%v; the end of %s:\n%s", err, b.console(), b.consoleTail())
	}
	return string(data)
}

// recordings lists the traces that the boot left, finished or not.
func (b *boot) recordings(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"2*.bst", "1970*.bst", "*.partial-*"} {
		found, err := filepath.Glob(filepath.Join(b.dir, "var/lib/bootscope", pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

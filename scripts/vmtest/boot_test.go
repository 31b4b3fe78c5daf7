//go:build vmtest

package vmtest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

//go:embed guest
var guestFiles embed.FS

const (
	// bootLimit is how long a guest may take, from QEMU's start to its end: half a minute, or three if the host is
	// busy.
	bootLimit = 10 * time.Minute
	// resultLimit is the size of the disk that takes the results.
	resultLimit = 64 << 20
)

// A run is one boot of a guest.
type run struct {
	guest guest
	image *image
	dir   string            // where everything of this run goes
	files map[string][]byte // programs to put into the guest, by path
	disks []string          // images of more disks: /dev/vdb and so on
	smp   string            // its CPUs, as QEMU wants them; "": two
	// parameters are the kernel's, besides those of every guest.
	parameters string
	// results are the files that the guest left in /out, by name.
	results map[string][]byte
	took    time.Duration
}

// boot runs the guest until it powers itself off and reads its results.
func (r *run) boot(ctx context.Context) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if err := r.writeInitramfs(); err != nil {
		return err
	}
	defer os.Remove(r.initramfs())
	disk := filepath.Join(r.dir, "results.tar")
	if err := os.WriteFile(disk, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(disk, resultLimit); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	m := machines[r.guest.arch]
	cmd := exec.CommandContext(ctx, m.qemu, append(m.args,
		// One thread for both CPUs: with two, QEMU now and then runs the breakpoint that the kernel puts where
		// it is about to change its own code, after the change (seen as "Oops: int3" in try_to_wake_up).
		"-accel", "tcg,thread=single", "-smp", cmp.Or(r.smp, "2"), "-m", "1024", "-nodefaults", "-display", "none", "-no-reboot",
		"-serial", "file:"+r.serialLog(),
		"-drive", "if=virtio,format=raw,cache=unsafe,file="+disk,
		"-kernel", r.image.kernel, "-initrd", r.initramfs(),
		// A kernel that panics or oopses ends at once, and so does QEMU.
		"-append", m.parameters+" panic=-1 oops=panic mitigations=off "+r.parameters)...)
	for _, image := range r.disks {
		cmd.Args = append(cmd.Args, "-drive", "if=virtio,format=raw,cache=unsafe,file="+image)
	}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	r.took = time.Since(start)
	if ctx.Err() != nil {
		return fmt.Errorf("%s was not done after %v", r.guest.name(), bootLimit)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", m.qemu, err, out)
	}
	r.results, err = readTar(disk)
	if err == nil && r.results["done"] == nil {
		err = errors.New("the guest ended before it was done")
	}
	return err
}

func (r *run) initramfs() string { return filepath.Join(r.dir, "initramfs") }

func (r *run) serialLog() string { return filepath.Join(r.dir, "serial.log") }

// serialTail gives the last lines that the guest printed.
func (r *run) serialTail() string {
	text, err := os.ReadFile(r.serialLog())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// writeInitramfs puts the guest's scripts and the files to try after the image's own initramfs.
func (r *run) writeInitramfs() error {
	base, err := os.ReadFile(r.image.base)
	if err != nil {
		return err
	}
	b := bytes.NewBuffer(base)
	c := newCPIOWriter(b)
	scripts, err := guestFiles.ReadDir("guest")
	if err != nil {
		return err
	}
	for _, entry := range scripts {
		data, err := guestFiles.ReadFile(path.Join("guest", entry.Name()))
		if err != nil {
			return err
		}
		c.file(entry.Name(), 0o755, data)
	}
	for name, data := range r.files {
		c.file(strings.TrimPrefix(name, "/"), 0o755, data)
	}
	if err := c.close(); err != nil {
		return err
	}
	return os.WriteFile(r.initramfs(), b.Bytes(), 0o644)
}

func readTar(name string) (map[string][]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the guest's results in %s: %w", name, err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("read %s in %s: %w", h.Name, name, err)
		}
		files[path.Clean(h.Name)] = data
	}
}

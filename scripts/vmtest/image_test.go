//go:build vmtest

package vmtest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// An image is what a guest boots: a kernel, and the initramfs without what is to be tried.
type image struct {
	kernel  string // path of the kernel
	base    string // path of the initramfs
	release string // of the kernel, "6.1.0-32-amd64"
	made    string // what it took to build the kernel just now, "" if it was there
}

// prepareImage builds the guest's image in dir, or finds it there.
func prepareImage(dir string, g guest) (*image, error) {
	img := &image{kernel: filepath.Join(dir, "vmlinuz"), base: filepath.Join(dir, "base.cpio")}
	if release, err := os.ReadFile(filepath.Join(dir, "release")); err == nil && (g.built == nil || g.built.isIn(dir)) {
		img.release = string(release)
		return img, nil
	}
	s, err := openSuite(filepath.Join(dir, "apt"), g.suite, g.arch)
	if err != nil {
		return nil, err
	}
	programs, err := s.programs("busybox-static", "python"+g.python+"-minimal", "libpython"+g.python+"-stdlib")
	if err != nil {
		return nil, err
	}
	var kernel []string
	if g.built != nil {
		err = g.built.build(img, dir)
	} else {
		kernel, err = s.kernel(g.image)
	}
	if err != nil {
		return nil, err
	}
	if err := img.write(g, programs, kernel); err != nil {
		return nil, err
	}
	// Last, since it says that the rest is whole. The packages are not needed any more.
	if err := os.WriteFile(filepath.Join(dir, "release"), []byte(img.release), 0o644); err != nil {
		return nil, err
	}
	return img, os.RemoveAll(s.dir)
}

// write makes the initramfs out of packages, and unpacks the kernel unless it was built.
func (img *image) write(g guest, programs, kernel []string) error {
	f, err := os.Create(img.base)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	c := newCPIOWriter(w)
	// All suites become alike: from trixie on packages have their files in /usr only.
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		c.dir("usr/" + name)
		c.symlink(name, "usr/"+name)
	}
	for _, name := range programs {
		if err := eachFile(name, func(h *tar.Header, r io.Reader) error { return addProgramFile(c, h, r) }); err != nil {
			return err
		}
	}
	c.symlink("usr/bin/python3", "python"+g.python)
	for _, name := range kernel {
		if err := eachFile(name, func(h *tar.Header, r io.Reader) error { return img.addKernelFile(c, h, r) }); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(img.release, g.kernel+".") {
		return fmt.Errorf("%s has kernel %q instead of %s: correct the table of guests", g.suite, img.release, g.kernel)
	}
	if err := c.close(); err != nil {
		return fmt.Errorf("write %s: %w", img.base, err)
	}
	return errors.Join(w.Flush(), f.Close())
}

// eachFile goes through the files of a package, without unpacking it onto the disk.
func eachFile(pkg string, use func(*tar.Header, io.Reader) error) error {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", pkg)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := tar.NewReader(bufio.NewReaderSize(out, 1<<20))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			h.Name = strings.Trim(strings.TrimPrefix(h.Name, "./"), "/")
			err = use(h, r)
		}
		if err != nil {
			cmd.Process.Kill()
			cmd.Wait()
			return fmt.Errorf("unpack %s: %w", pkg, err)
		}
	}
	io.Copy(io.Discard, out)
	return cmd.Wait()
}

// addProgramFile keeps what a program needs to run.
func addProgramFile(c *cpioWriter, h *tar.Header, r io.Reader) error {
	for _, unused := range []string{"usr/share/", "var/", "etc/"} {
		if strings.HasPrefix(h.Name, unused) {
			return nil
		}
	}
	name := h.Name
	for _, merged := range []string{"bin/", "sbin/", "lib/", "lib64/"} {
		if strings.HasPrefix(name, merged) {
			name = "usr/" + name
		}
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		c.symlink(name, h.Linkname)
	case tar.TypeLink:
		c.symlink(name, "/"+strings.TrimPrefix(h.Linkname, "./"))
	case tar.TypeReg:
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		c.file(name, h.FileInfo().Mode(), data)
	}
	return nil
}

// addKernelFile keeps the kernel itself beside the initramfs, and in it the few modules to load.
func (img *image) addKernelFile(c *cpioWriter, h *tar.Header, r io.Reader) error {
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if release := kernelRelease(h.Name); release != "" {
		img.release = release
		return writeFrom(img.kernel, r)
	}
	name, compressed := moduleName(h.Name)
	order := slices.Index(modules, name)
	if order < 0 {
		return nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if compressed {
		xz := exec.Command("xz", "-dc")
		xz.Stdin = bytes.NewReader(data)
		if data, err = xz.Output(); err != nil {
			return fmt.Errorf("decompress %s: %w", h.Name, err)
		}
	}
	c.file(fmt.Sprintf("modules/%02d-%s.ko", order, name), 0o644, data)
	return nil
}

func writeFrom(name string, r io.Reader) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

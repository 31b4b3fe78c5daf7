//go:build vmtest

package vmtest

import "strings"

// A guest is a kernel to boot, and the suite that it and its Python come from.
type guest struct {
	arch   string // as Debian and Go call it
	kernel string // the version that the suite's kernel is expected to have, as far as it is fixed
	suite  string
	python string
	// image is the package that depends on the suite's kernel.
	image string
	// variant sets a kernel apart from the suite's ordinary one, in a word or two of its name: "rt".
	variant string
	// built is how the kernel is made here; nil where it comes in a package.
	built *builtKernel

	// functions is the best way in which functions of the kernel can be traced, as --attach calls it: "fexit"
	// (on arm64 from 6.4 on), or "tp_btf", which is at the end of system calls. "" is fexit.
	functions string
	// every: it is tried in every way that it can be, not only in those that are taken unasked.
	every bool
	// noBTF: the kernel has no type information of its own.
	noBTF bool
	// ways are those by probe in which this kernel differs from the table of what is expected, "" for off.
	ways map[string]string
	// preemptible: the kernel can take the CPU from a program that it runs. Should the next task get to the
	// same program, the kernel skips it, or it finds its memory taken. That is rare, but not where everything
	// takes milliseconds. Debian's newest is of this kind (PREEMPT_LAZY).
	preemptible bool
}

// name is what tests and directories are called: "arm64-6.1", or with a variant "arm64-6.1-rt".
func (g guest) name() string {
	name := g.arch + "-" + g.kernel
	if g.variant != "" {
		name += "-" + strings.ReplaceAll(g.variant, " ", "-")
	}
	return name
}

// idles tells whether an idle recording is made, too.
func (g guest) idles() bool { return g.every && !g.noBTF }

var guests = []guest{
	{arch: "amd64", kernel: "5.10", suite: "bullseye", python: "3.9", every: true, image: "linux-image-amd64"},
	{arch: "amd64", kernel: "6.1", suite: "bookworm", python: "3.11", image: "linux-image-amd64"},
	{arch: "amd64", kernel: "6.12", suite: "trixie", python: "3.13", image: "linux-image-amd64"},
	{arch: "amd64", kernel: "7", suite: "testing", python: "3.14", preemptible: true, image: "linux-image-amd64"},
	{arch: "arm64", kernel: "5.10", suite: "bullseye", python: "3.9", functions: "tp_btf", image: "linux-image-arm64"},
	{arch: "arm64", kernel: "6.1", suite: "bookworm", python: "3.11", functions: "tp_btf", image: "linux-image-arm64"},
	{arch: "arm64", kernel: "6.12", suite: "trixie", python: "3.13", image: "linux-image-arm64"},
	{arch: "arm64", kernel: "7", suite: "testing", python: "3.14", preemptible: true, every: true, image: "linux-image-arm64"},

	// PREEMPT_RT: nearly every lock may sleep, and nearly everything can be preempted.
	{arch: "amd64", kernel: "6.1", variant: "rt", suite: "bookworm", python: "3.11", preemptible: true, image: "linux-image-rt-amd64"},
	{arch: "amd64", kernel: "7", variant: "rt", suite: "testing", python: "3.14", preemptible: true, image: "linux-image-rt-amd64"},
	{arch: "arm64", kernel: "6.12", variant: "rt", suite: "trixie", python: "3.13", preemptible: true, image: "linux-image-rt-arm64"},
}

// A machine is what QEMU emulates for an architecture.
type machine struct {
	qemu       string
	args       []string
	parameters string // of the kernel
}

var machines = map[string]machine{
	"amd64": {
		qemu: "qemu-system-x86_64",
		// acpi-cpufreq refuses the AMD processor that is the default.
		args: []string{"-machine", "q35", "-cpu", "Nehalem"},
		// The speed of the TSC is measured at boot: wrong by a factor of seven if the host was busy just then.
		// The kernel refuses to go on where no timer interrupt came while it counted, as on a busy host.
		parameters: "console=ttyS0 clocksource=hpet tsc=unstable no_timer_check",
	},
	"arm64": {
		qemu:       "qemu-system-aarch64",
		args:       []string{"-machine", "virt", "-cpu", "cortex-a72"},
		parameters: "console=ttyAMA0",
	},
}

// modules lead to the disk that takes the results, in the order in which they need each other. A
// kernel that has one built in, or doesn't know it, has no such file.
var modules = []string{
	"virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk",
}

// kernelRelease gives the version of a kernel in its package, "" for every other file. It is beside its
// modules from 7.0 on.
func kernelRelease(path string) string {
	if release, ok := strings.CutPrefix(path, "boot/vmlinuz-"); ok {
		return release
	}
	release, ok := strings.CutSuffix(strings.TrimPrefix(path, "usr/lib/modules/"), "/vmlinuz")
	if !ok {
		return ""
	}
	return release
}

// moduleName gives the module in a file of a kernel package: modules are compressed from 6.12 on.
func moduleName(path string) (name string, compressed bool) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	base, compressed = strings.CutSuffix(base, ".xz")
	name, isModule := strings.CutSuffix(base, ".ko")
	if !isModule {
		return "", false
	}
	return name, compressed
}

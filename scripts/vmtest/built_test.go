//go:build vmtest

package vmtest

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

var complete = flag.Bool("complete", false, "build the kernel that has everything, too")

// A builtKernel is made here from packaged source: what bootscope says that a kernel needs, what the rig needs, and
// nothing else, so that it takes minutes. All are built in one tree, where what doesn't differ is not made again.
type builtKernel struct {
	without []string // options of these that it has to lack
}

// rigConfig is what a kernel needs besides what bootscope says.
//
//go:embed builtconfig/rig.config
var rigConfig string

const (
	sourcePackage = "linux-source-6.1"
	sourceSuite   = "bookworm"
)

// unused are the large parts of the source of which no such kernel has anything. Kconfig wants its own files.
var unused = []string{
	"*/drivers/gpu/*.[ch]", "*/drivers/net/*/*.[ch]", "*/drivers/media/*.[ch]", "*/drivers/staging/*.[ch]",
	"*/sound/*.[ch]", "*.dts", "*.dtsi", "*/tools/testing/*",
}

// without is a kernel that lacks these options.
func without(options ...string) *builtKernel { return &builtKernel{options} }

// config is the configuration, as far as it is not left to what follows from it.
func (b *builtKernel) config() string {
	var c strings.Builder
	for line := range strings.Lines(rigConfig + strings.Join(record.KernelFragment(), "\n") + "\n") {
		option, _, set := strings.Cut(line, "=")
		if !set || !slices.Contains(b.without, option) {
			c.WriteString(line)
		}
	}
	for _, option := range b.without {
		fmt.Fprintf(&c, "# %s is not set\n", option)
	}
	return c.String()
}

// builtGuests: one kernel has all that bootscope asks for, to try what check --kernel-config prints. The other lacks what of that a small kernel may lack, and
// what all packaged ones have: imports, switches and samples have to be seen without.
//
// There is no third: nearly every file has to be compiled again, since BTF changes struct module, and so on.
var builtGuests = []guest{
	{arch: "amd64", kernel: "6.1", variant: "complete", suite: sourceSuite, python: "3.11", every: true, built: without()},
	{arch: "amd64", kernel: "6.1", variant: "bare", suite: sourceSuite, python: "3.11", noBTF: true,
		built: without("CONFIG_DEBUG_INFO_BTF", "CONFIG_DEBUG_INFO", "CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT",
			"CONFIG_FUNCTION_TRACER", "CONFIG_DYNAMIC_FTRACE", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
			"CONFIG_FTRACE_SYSCALLS", "CONFIG_KPROBES", "CONFIG_KPROBE_EVENTS", "CONFIG_CPU_FREQ", "CONFIG_MEMCG"),
		ways: map[string]string{"cpufreq": ""}},
}

// TestBuiltKernels records on each of them as TestKernels does on packaged ones.
func TestBuiltKernels(t *testing.T) {
	var all matrix
	for _, g := range builtGuests {
		t.Run(g.variant, func(t *testing.T) {
			if len(g.built.without) == 0 && !*complete {
				t.Skip("building it takes eight minutes: make vmtest-complete")
			}
			program, err := programs[g.arch]()
			if err != nil {
				t.Fatal(err)
			}
			r := start(t, g, map[string][]byte{"usr/bin/bootscope": program, "modes": modesFile(g)})
			if r.image.made != "" {
				t.Log(r.image.made)
			}
			for _, m := range modes(g) {
				t.Run(m.name, func(t *testing.T) { checkMode(t, r, m, &all) })
			}
			checkIdle(t, r, &all)
			checkAdvice(t, r)
			checkSeen(t, r)
			checkKernelLog(t, string(r.results["dmesg"]))
		})
	}
}

// checkSeen tests that a probe that is attached tells something: an event may be in a kernel where nothing gives it.
// The others are compared with what the program knows of itself.
func checkSeen(t *testing.T, r *run) {
	data := r.results["best.bst"]
	f, err := tracefile.NewReader(bytes.NewReader(data), int64(len(data)), "best.bst")
	if err != nil {
		t.Fatal(err)
	}
	var samples, pages int
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *event.Sample:
			samples++
		case *event.Read:
			pages += int(e.Pages)
		}
	}
	// The program touches eight pages far from each other, and computes for a second and more.
	if samples < 10 || pages < 8 {
		t.Errorf("%d samples and %d pages that came into the page cache", samples, pages)
	}
	t.Logf("%d samples, %d pages came into the page cache", samples, pages)
}

// isIn tells whether the image in dir has this kernel.
func (b *builtKernel) isIn(dir string) bool {
	config, err := os.ReadFile(filepath.Join(dir, "config"))
	return err == nil && string(config) == b.config()
}

// build makes the kernel of img in dir.
func (b *builtKernel) build(img *image, dir string) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("kernels are only built on amd64, for amd64")
	}
	tree, err := filepath.Abs(filepath.Join(cache, sourcePackage))
	if err != nil {
		return err
	}
	began := time.Now()
	if err := unpackSource(tree); err != nil {
		return err
	}
	unpacked, spent := time.Now(), childrenCPU()
	if err := os.RemoveAll(filepath.Join(dir, "config")); err != nil { // the kernel is another from here on
		return err
	}
	wanted := filepath.Join(tree, "wanted.config")
	if err := os.WriteFile(wanted, []byte(b.config()), 0o644); err != nil {
		return err
	}
	// All that isn't asked for is off.
	if _, err := makeKernel(tree, "KCONFIG_ALLCONFIG="+wanted, "allnoconfig"); err != nil {
		return err
	}
	if err := b.checkConfig(filepath.Join(tree, "out/.config")); err != nil {
		return err
	}
	if _, err := makeKernel(tree, fmt.Sprintf("-j%d", runtime.NumCPU()), "bzImage"); err != nil {
		return err
	}
	img.made = fmt.Sprintf("source there after %.1f s, kernel made in %.1f s, %.1f s of CPU time",
		unpacked.Sub(began).Seconds(), time.Since(unpacked).Seconds(), (childrenCPU() - spent).Seconds())
	release, err := makeKernel(tree, "kernelrelease")
	if err != nil {
		return err
	}
	img.release = strings.TrimSpace(release)
	kernel, err := os.Open(filepath.Join(tree, "out/arch/x86/boot/bzImage"))
	if err != nil {
		return err
	}
	defer kernel.Close()
	return errors.Join(writeFrom(img.kernel, kernel), os.WriteFile(filepath.Join(dir, "config"), []byte(b.config()), 0o644))
}

// childrenCPU is the CPU time of all processes that were started here and have ended. The other tests of a machine
// can't make it longer, as they can the time by the clock.
func childrenCPU() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// checkConfig tests that everything asked for was taken: an option whose dependencies are off is silently left out.
func (b *builtKernel) checkConfig(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	taken := strings.Split(string(text), "\n")
	var wrong []error
	for line := range strings.Lines(b.config()) {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, "=y") && !slices.Contains(taken, line) {
			wrong = append(wrong, fmt.Errorf("%s was not taken: something that it depends on is off", line))
		}
	}
	for _, option := range b.without {
		if slices.Contains(taken, option+"=y") {
			wrong = append(wrong, fmt.Errorf("%s is on: something else asks for it", option))
		}
	}
	return errors.Join(wrong...)
}

func makeKernel(tree string, args ...string) (string, error) {
	args = append([]string{"-s", "-C", filepath.Join(tree, "source"), "O=" + filepath.Join(tree, "out")}, args...)
	cmd := exec.Command("make", args...)
	// What the make that runs this test was told is not for the kernel's.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") })
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%v: %w (it needs the packages gcc, flex, bison, bc, libelf-dev, dwarves): %s", cmd, err, stderr.String())
	}
	return string(out), err
}

// unpackSource gets the source into the tree, unless it is there.
func unpackSource(tree string) error {
	done := filepath.Join(tree, "unpacked")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	s, err := openSuite(filepath.Join(tree, "apt"), sourceSuite, "amd64")
	if err != nil {
		return err
	}
	if _, err := s.run(s.dir, "apt-get", "-q", "download", sourcePackage); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(s.dir, sourcePackage+"_*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("packages of %s: %q, %v", sourcePackage, packages, err)
	}
	source := filepath.Join(tree, "source")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return err
	}
	const unpack = `set -o pipefail
dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$2.tar.xz" | xz -dc -T0 | tar -x -C "$3" --strip-components=1 "${@:4}"`
	args := []string{"-c", unpack, "unpack", packages[0], sourcePackage, source}
	for _, pattern := range unused {
		args = append(args, "--exclude="+pattern)
	}
	if out, err := exec.Command("bash", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w: %s", packages[0], err, out)
	}
	return errors.Join(os.RemoveAll(s.dir), os.WriteFile(done, nil, 0o644))
}

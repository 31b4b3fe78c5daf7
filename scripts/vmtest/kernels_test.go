//go:build vmtest

package vmtest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	script = flag.String("script", "", "shell script that TestScript runs in each guest instead of the self-test")
	add    = flag.String("add", "", "files to put into the root of TestScript's guests, with commas between")
)

// cache is where packages, images and the last run of each guest are kept.
var cache = filepath.Join("..", "..", "build", "vm")

// start boots g with files in it, and maybe more disks. Whatever it left is in the run's directory.
func start(t *testing.T, g guest, files map[string][]byte, disks ...string) *run {
	t.Helper()
	r := &run{guest: g, files: files, disks: disks}
	r.start(t)
	return r
}

// start boots what the run was told to.
func (r *run) start(t *testing.T) {
	t.Helper()
	g := r.guest
	dir, err := filepath.Abs(filepath.Join(cache, g.name()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	img, err := prepareImage(dir, g)
	if err != nil {
		t.Fatalf("prepare %s: %v", g.name(), err)
	}
	prepared := time.Since(began)
	r.image, r.dir = img, filepath.Join(dir, "run")
	if err := r.boot(context.Background()); err != nil {
		t.Fatalf("%v; the end of %s:\n%s", err, r.serialLog(), r.serialTail())
	}
	t.Logf("Linux %s, Python %s: prepared in %.1f s, booted and done in %.1f s",
		img.release, g.python, prepared.Seconds(), r.took.Seconds())
}

// TestScript is for trying things in a guest by hand.
func TestScript(t *testing.T) {
	if *script == "" {
		t.Skip("no -script given")
	}
	files := map[string][]byte{"selftest": nil}
	for _, name := range append(strings.FieldsFunc(*add, func(c rune) bool { return c == ',' }), *script) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == *script {
			name = "selftest"
		}
		files[filepath.Base(name)] = data
	}
	for _, g := range guests {
		t.Run(g.name(), func(t *testing.T) {
			r := start(t, g, files)
			t.Logf("%s", r.serialTail())
		})
	}
}

// TestKernels records in every guest. Two at a time are faster than one, on two CPUs.
//
// What became of every probe makes the support table of docs/kernels.md, which -update rewrites.
func TestKernels(t *testing.T) {
	var m matrix
	t.Cleanup(func() { m.check(t) }) // when all guests are done
	for _, g := range guests {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			program, err := programs[g.arch]()
			if err != nil {
				t.Fatal(err)
			}
			r := start(t, g, map[string][]byte{"usr/bin/bootscope": program, "modes": modesFile(g)})
			for _, mode := range modes(g) {
				t.Run(mode.name, func(t *testing.T) { checkMode(t, r, mode, &m) })
			}
			checkIdle(t, r, &m)
			checkKernelLog(t, string(r.results["dmesg"]))
		})
	}
}

// modesFile is what guest/selftest reads: a name and what bootscope is called with, in each line.
func modesFile(g guest) []byte {
	var b bytes.Buffer
	for _, m := range modes(g) {
		fmt.Fprintln(&b, m.name, m.arguments("record"))
		if m.attach == nil {
			fmt.Fprintln(&b, m.name, m.arguments("check"))
		}
	}
	if g.idles() {
		fmt.Fprintln(&b, "idle idle --duration 2s")
	}
	return b.Bytes()
}

// programs are the static binaries, built when first asked for.
var programs = map[string]func() ([]byte, error){
	"amd64": sync.OnceValues(func() ([]byte, error) { return buildProgram("amd64") }),
	"arm64": sync.OnceValues(func() ([]byte, error) { return buildProgram("arm64") }),
}

func buildProgram(arch string) ([]byte, error) {
	name := filepath.Join(cache, "bootscope-"+arch)
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", name, "../../cmd/bootscope")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	return os.ReadFile(name)
}

// splat matches what a kernel says when something went wrong in it.
var splat = regexp.MustCompile(`BUG:|WARNING:|INFO: .*(stall|blocked|suspicious)|Oops|Call Trace|scheduling while atomic`)

func checkKernelLog(t *testing.T, text string) {
	for line := range strings.Lines(text) {
		if splat.MatchString(line) {
			t.Errorf("the kernel says: %s", strings.TrimSpace(line))
		}
	}
}

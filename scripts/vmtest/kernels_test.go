//go:build vmtest

package vmtest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	script = flag.String("script", "", "shell script that TestScript runs in each guest instead of the self-test")
	add    = flag.String("add", "", "files to put into the root of TestScript's guests, with commas between")
)

// cache is where packages, images and the last run of each guest are kept.
var cache = filepath.Join("..", "..", "build", "vm")

// start boots g with files in it. Whatever it left is in the run's directory.
func start(t *testing.T, g guest, files map[string][]byte) *run {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(cache, g.name()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	img, err := prepareImage(dir, g)
	if err != nil {
		t.Fatalf("prepare %s: %v", g.name(), err)
	}
	r := &run{guest: g, image: img, dir: filepath.Join(dir, "run"), files: files}
	if err := r.boot(context.Background()); err != nil {
		t.Fatalf("%v; the end of %s:\n%s", err, r.serialLog(), r.serialTail())
	}
	t.Logf("Linux %s, Python %s: booted and done in %.1f s", img.release, g.python, r.took.Seconds())
	return r
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

func TestKernels(t *testing.T) {
	for _, g := range guests {
		t.Run(g.name(), func(t *testing.T) {
			r := start(t, g, nil)
			t.Logf("%s", r.serialTail())
		})
	}
}

// Package golden compares what a test made with a file that holds what is right: its golden file, named
// after the command that prints it. With -update, tests write these files instead. It knows nothing of
// what is compared.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating tells whether files are to be rewritten.
func Updating() bool { return *update }

// Check compares got with a file in testdata.
func Check[T string | []byte](t testing.TB, name string, got T) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	if string(got) != string(want) {
		t.Errorf("differs from %s (go test -update rewrites it):\n%s", file, got)
	}
}

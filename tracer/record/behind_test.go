//go:build linux

package record

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// TestBehind writes in pieces of all sizes: what is dropped from the page cache is still in the file.
func TestBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.bst")
	output, err := tracefile.Create(file, false)
	if err != nil {
		t.Fatal(err)
	}
	w := newBehind(output)
	var want []byte
	for i := 1; len(want) < 5*dropEvery; i = i*7 + 1 {
		piece := bytes.Repeat([]byte{byte(i)}, i%(2*dropEvery))
		want = append(want, piece...)
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("%d of %d bytes written: %v", n, len(piece), err)
		}
	}
	if err := output.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes that differ from the %d that were written (%v)", len(got), len(want), err)
	}
	if _, err := w.Write([]byte("more")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("writing to a closed file: %v", err)
	}
}

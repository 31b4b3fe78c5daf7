//go:build linux

package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTypesFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]string{ // file to what is said of it
		filepath.Join(dir, "missing"):                          "no such file",
		write("empty", nil):                                    "has no BTF",
		write("text", []byte("CONFIG_DEBUG_INFO_BTF=y\n")):     "has no BTF",
		write("header", []byte{0x9f, 0xeb, 1, 0, 24, 0, 0, 0}): "",
		"/proc/self/exe":                                       "is of another kernel", // an ELF file with a build id
	}
	if own, err := os.ReadFile(ownTypes); err == nil {
		own[len(own)-2] ^= 1
		tests[write("other", own)] = "is of another kernel"
	}
	for file, want := range tests {
		_, err := openTypes(file)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %q and the file's name", file, err, want)
		}
	}
}

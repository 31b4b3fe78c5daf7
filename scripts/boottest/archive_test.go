//go:build vmtest

package boottest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// archive is one executable file as the kernel unpacks it from an initramfs (format "newc").
func archive(name string, data []byte) []byte {
	return append(entry(name, 0o100755, data), entry("TRAILER!!!", 0, nil)...)
}

func entry(name string, mode int, data []byte) []byte {
	const none = 0
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", 1, mode, none, none, 1, none,
		len(data), none, none, none, none, len(name)+1, none, name)
	header += strings.Repeat("\x00", -len(header)&3)
	return append([]byte(header), append(data[:len(data):len(data)], make([]byte, -len(data)&3)...)...)
}

// number reads a property that is a number; one that isn't there is 0.
func number(t *testing.T, text string) uint64 {
	t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

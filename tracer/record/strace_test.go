//go:build linux && kerneltest

package record_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// An opened is an open call as one of the witnesses has seen it.
type opened struct {
	path   string // absolute
	result int    // a descriptor, or a negative errno
}

func (o opened) String() string {
	if o.result < 0 {
		return fmt.Sprintf("%q failed: %v", o.path, syscall.Errno(-o.result))
	}
	return fmt.Sprintf("%q is descriptor %d", o.path, o.result)
}

// openSink collects the opens of each process, as the model tells them.
type openSink struct {
	timeline.Discard
	byPID map[int][]opened
}

func (s *openSink) Open(o *timeline.Open) {
	pid := int(o.Thread.Process.PID)
	s.byPID[pid] = append(s.byPID[pid], opened{o.Path, int(o.Result)})
}

// straceLine is an open call with decoded descriptors (strace -y), such as
//
//	openat(AT_FDCWD</root>, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3</etc/passwd>
//	openat(3</etc>, "passwd2", O_RDONLY) = -1 ENOENT (No such file or directory)
var straceLine = regexp.MustCompile(`^(open|openat|openat2|creat)\((?:(?:AT_FDCWD|\d+)<([^>]*)>, )?(?:"([^"]*)"|NULL)(.*)\) += (?:(\d+)<([^>]*)>|-1 (E\w+) .*)$`)

// readStrace reads what strace -ff has written for one process.
func readStrace(t *testing.T, file, cwd string) (opens []opened) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		m := straceLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s: strace wrote %q", file, line)
		}
		directory, name, descriptor, path, errno := m[2], m[3], m[5], m[6], m[7]
		if descriptor != "" {
			fd, _ := strconv.Atoi(descriptor)
			opens = append(opens, opened{path, fd})
			continue
		}
		if directory == "" { // open and creat have none
			directory = cwd
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(directory, name)
		}
		opens = append(opens, opened{filepath.Clean(name), -errnoOf(t, errno)})
	}
	return opens
}

func errnoOf(t *testing.T, name string) int {
	t.Helper()
	for n := range 200 {
		if unix.ErrnoName(syscall.Errno(n)) == name {
			return n
		}
	}
	t.Fatalf("strace tells of an unknown error %s", name)
	return 0
}

// The start-up of Python, with what its imports open, in a tree of processes with relative paths,
// directory descriptors and failures.
const pythonOpens = `
cd "$1" && mkdir -p package/inner && echo 'from . import inner' > package/__init__.py && echo 'x = 1' > package/inner/__init__.py
"$2" -c 'import sys; sys.path.insert(0, "."); import package, json, email.message, asyncio, http.server'
cat package/missing ../missing ./package/../package/__init__.py
"$2" - << 'END'
import os, subprocess
top = os.open("package", os.O_RDONLY | os.O_DIRECTORY)
os.close(os.open("inner/__init__.py", os.O_RDONLY, dir_fd=top))
for name in "inner/missing", "inner/__init__.py/below":
    try:
        os.open(name, os.O_RDONLY, dir_fd=top)
    except OSError:
        pass
os.symlink("package", "link")
open("link/inner/__init__.py").close()
os.chdir("link/inner")
open("new", "w").close()
subprocess.run(["cat", "new", "../__init__.py", "absent"])
END
true
`

// TestOpensAreStraces runs the same processes under strace while they are recorded.
func TestOpensAreStraces(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("the witness is missing (package strace): %v", err)
	}
	for _, python := range pythons(t) {
		t.Run(python, func(t *testing.T) {
			dir, traces := t.TempDir(), t.TempDir()
			tr, _ := runWhole(t, record.Options{Command: []string{
				"strace", "-ff", "-y", "-s", "4096", "-qq", "-o", traces + "/by", "-e", "trace=open,openat,openat2,creat",
				"sh", "-c", pythonOpens, "sh", dir, python}})
			tr.checkNothingLost(t)
			sink := openSink{byPID: map[int][]opened{}}
			tr.timeline(t, &sink)
			files, _ := filepath.Glob(traces + "/by.*")
			compared, failed := 0, 0
			for _, file := range files {
				pid, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(file), "."))
				want := readStrace(t, file, dir)
				compareOpens(t, pid, sink.byPID[pid], want)
				for _, o := range want {
					compared++
					if o.result < 0 {
						failed++
					}
				}
			}
			if len(files) < 5 || compared < 300 || failed < 50 {
				t.Errorf("strace saw %d processes with %d opens, %d of which failed: too few for this start-up", len(files), compared, failed)
			}
			t.Logf("%d opens of %d processes are the same, %d of them failures", compared, len(files), failed)
		})
	}
}

// pythons returns Debian's Python, and the newest that pyenv has installed.
func pythons(t *testing.T) []string {
	t.Helper()
	found := []string{"/usr/bin/python3"}
	if _, err := os.Stat(found[0]); err != nil {
		t.Fatalf("no Python to record (package python3): %v", err)
	}
	if more, _ := filepath.Glob("/root/.pyenv/versions/3.1*/bin/python3"); len(more) > 0 {
		found = append(found, more[len(more)-1])
	}
	return found
}

// compareOpens compares the opens of one process, in order.
func compareOpens(t *testing.T, pid int, got, want []opened) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("process %d: %d opens, strace saw %d; the first that is missing: %v", pid, len(got), len(want), want[i])
		case i >= len(want):
			t.Errorf("process %d: %d opens, strace saw %d; the first that is too much: %v", pid, len(got), len(want), got[i])
		case got[i] != want[i]:
			t.Errorf("process %d, open %d of %d:\n got %v\nwant %v", pid, i, len(want), got[i], want[i])
		default:
			continue
		}
		return
	}
}

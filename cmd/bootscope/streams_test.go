package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

func TestStandardInput(t *testing.T) {
	dir := traces(t)
	trace, err := os.ReadFile(filepath.Join(dir, "story.bst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"report", "report --json", "dump", "export --format chrome -o -"} {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			fromFile := bootscope(t, dir, nil, append(words, "story.bst")...)
			fromStream := bootscope(t, dir, trace, append(words, "-")...)
			if fromStream != fromFile || fromFile.status != 0 || fromFile.stdout == "" {
				t.Errorf("standard input gives\n%+v\nthe file\n%+v", fromStream, fromFile)
			}
		})
	}
}

func TestExport(t *testing.T) {
	dir := traces(t)
	out := filepath.Join(dir, "story.chrome.json")
	r := bootscope(t, dir, nil, "export", "story.bst", "--format", "chrome")
	if r != (result{}) {
		t.Fatalf("got %+v, want silence", r)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(content) {
		t.Errorf("no JSON: %s", content)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("mode %o, want 600: a trace holds command lines", mode)
	}
	r = bootscope(t, dir, nil, "export", "--force", "--format", "chrome", "-o", "taken.json", "story.bst")
	if overwritten, err := os.ReadFile(filepath.Join(dir, "taken.json")); err != nil || !bytes.Equal(overwritten, content) {
		t.Errorf("--force: %+v, %v: %s", r, err, overwritten)
	}
}

// TestIncomplete says on standard error what is missing, since the output looks whole.
func TestIncomplete(t *testing.T) {
	dir := traces(t)
	for _, line := range []string{"dump cut.bst", "export --format chrome -o - cut.bst"} {
		r := bootscope(t, dir, nil, strings.Fields(line)...)
		const want = "bootscope: cut.bst is incomplete: the recording was cut off before its end\n"
		if r.status != 0 || !strings.HasSuffix(r.stderr, want) {
			t.Errorf("%s: status %d, stderr %q, want %q", line, r.status, r.stderr, want)
		}
	}
}

// TestBrokenPipe is "bootscope dump | head": the end of the reader is no failure to talk about.
func TestBrokenPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signal for a broken pipe")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "long.bst")
	writeLong(t, file)
	cmd := exec.Command("sh", "-c", `"$0" dump "$1" | head -n 2`, exe, file)
	cmd.Env = append(os.Environ(), asBootscope+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 || bytes.Count(out, []byte("\n")) != 2 {
		t.Errorf("error %v, stderr %q, stdout %q", err, stderr.String(), out)
	}
}

// writeLong writes a trace whose dump is larger than any pipe holds.
func writeLong(t *testing.T, file string) {
	t.Helper()
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "1.%06d [000] %d switch next=%d state=sleeping\n", i, 1+i%2, 1+(i+1)%2)
	}
	source, err := tracefile.ParseText("long", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tracefile.WriteBinary(&b, source); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVersion(t *testing.T) {
	if r := bootscope(t, ".", nil, "--version"); r.status != 0 || !strings.HasPrefix(r.stdout, "bootscope ") {
		t.Errorf("got %+v", r)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := bootscope(t, ".", nil, "completion", shell); r.status != 0 || !strings.Contains(r.stdout, "bootscope") {
			t.Errorf("%s: status %d, %d bytes", shell, r.status, len(r.stdout))
		}
	}
	if r := bootscope(t, ".", nil, "__complete", "export", "t.bst", "--format", ""); !strings.HasPrefix(r.stdout, "perfetto\n") {
		t.Errorf("--format is completed by %q", r.stdout)
	}
}

// TestProgress shows the line for work that is long, and takes it away.
func TestProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		age  time.Duration
		at   uint64
		want string
	}{
		"long work":     {time.Minute, 10_005_000_000, "\rreading t.bst: 25 %\x1b[K\r\x1b[K"},
		"short work":    {0, 10_005_000_000, ""},
		"out of bounds": {time.Minute, 1, "\rreading t.bst: 7 events\x1b[K\r\x1b[K"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			p := &progress{Source: story(t), w: &b, name: "t.bst", begun: time.Now().Add(-tt.age)}
			p.show(7, tt.at)
			p.show(8, tt.at) // too soon after the one before
			p.clear()
			if b.String() != tt.want {
				t.Errorf("printed %q, want %q", b.String(), tt.want)
			}
		})
	}
}

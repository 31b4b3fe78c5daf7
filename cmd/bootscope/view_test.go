package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestView fetches the trace as the viewer's page does.
func TestView(t *testing.T) {
	dir := traces(t)
	if r := bootscope(t, dir, nil, "export", "story.bst", "--format", "perfetto"); r.status != 0 {
		t.Fatalf("%+v", r)
	}
	want, err := os.ReadFile(filepath.Join(dir, "story.pftrace"))
	if err != nil {
		t.Fatal(err)
	}
	reserve(t).Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "view", "story.bst")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asBootscope+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	link, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	page, url, ok := strings.Cut(strings.TrimSpace(link), "/#!/?url=")
	if !ok || page != viewer || !strings.HasPrefix(url, "http://127.0.0.1:9001/") || !strings.HasSuffix(url, "/story.pftrace") {
		t.Fatalf("the link is %q", link)
	}
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", viewer)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the page gets %d bytes, and export writes %d", len(got), len(want))
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// reserve takes the one address that can be served on, or skips the test if somebody else has it.
func reserve(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", viewAddress)
	if err != nil {
		t.Skipf("%s is in use: %v", viewAddress, err)
	}
	return l
}

func TestViewInUse(t *testing.T) {
	dir := traces(t)
	defer reserve(t).Close()
	r := bootscope(t, dir, nil, "view", "story.bst")
	if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "127.0.0.1:9001") {
		t.Errorf("got %+v", r)
	}
}

func TestViewLocal(t *testing.T) {
	dir := traces(t)
	got, want := bootscope(t, dir, nil, "view", "--local", "story.bst"), bootscope(t, dir, nil, "report", "story.bst")
	if got != want || got.status != 0 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

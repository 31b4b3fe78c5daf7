package export

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPprofTools lets pprof show a profile.
func TestPprofTools(t *testing.T) {
	boot := traceFile(t, "testdata/pprof-boot.txt")
	file := writeTrace(t, boot, "pprof")
	text, err := os.ReadFile("testdata/pprof-boot.txt")
	if err != nil {
		t.Fatal(err)
	}
	// In the next boot the disk answers 80 ms earlier.
	faster := strings.NewReplacer("10.500000 [001]", "10.420000 [001]").Replace(string(text))
	next := filepath.Join(t.TempDir(), "next.pb.gz")
	if err := os.Rename(writeTrace(t, parse(t, "next", faster), "pprof"), next); err != nil {
		t.Fatal(err)
	}
	pprof := pprofTool(t)
	tests := []struct {
		name string
		args []string
		want []string // regular expressions
	}{
		{"top", []string{"-top"}, []string{
			`File: Test Board`, `Type: cpu`, `Duration: 2s, Total samples = 2496\.90ms`,
			`1498ms .* 1498ms .*  python3 light.py`, ` 0 +0% .* 1498ms .*  light.service`,
			`490ms +19\.62%  shop\n`, `200ms .*  shop\.views`, `kworker/0:1`}},
		{"I/O", []string{"-top", "-sample_index=io_wait", "-unit=ms"}, []string{`Total samples = 100ms`, ` 0 +0% +100% +100ms +100%  shop\n`}},
		{"runnable", []string{"-top", "-sample_index=runnable", "-unit=ms", "-focus=web"}, []string{`50ms .*  shop\n`}},
		{"reads", []string{"-top", "-sample_index=reread_bytes", "-unit=kb"}, []string{`8kB +100% +100% +8kB +100%  shop\.models`}},
		{"tree", []string{"-tree", "-unit=ms"}, []string{
			`100% \| +web\.service\n.* +python3 web.py\n`, `python3 web.py\n +[0-9.]+ms +[0-9.]+% \|   shop`}},
		{"tags", []string{"-tags", "-unit=ms"}, []string{`cpu_frequency:`, `600ms .*: 1800 MHz`, `unit: Total`, `light\.service`}},
		{"a process", []string{"-top", "-unit=ms", "-tagfocus=pid=200"}, []string{`of [0-9.]+ms total`, `python3 light.py`}},
		{"comments", []string{"-comments"}, []string{`bootscope test: Linux 6\.1\.0-18-arm64 aarch64, boot 7e9f6f1c`}},
		{"difference", []string{"-top", "-unit=ms", "-sample_index=io_wait", "-diff_base=" + next}, []string{`80ms .*  shop\n`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := tool(t, pprof, append(tt.args, file)...)
			for _, want := range tt.want {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("no %s in\n%s", want, out)
				}
			}
		})
	}
}

// TestPprofServer fetches the flame graph's page.
func TestPprofServer(t *testing.T) {
	address := freeAddress(t)
	cmd := exec.Command(pprofTool(t), "-http="+address, "-no_browser", writeTrace(t, traceFile(t, "testdata/pprof-boot.txt"), "pprof"))
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	page := fetch(t, "http://"+address+"/ui/flamegraph")
	for _, want := range []string{"web.service", "python3 light.py", "shop.models"} {
		if !strings.Contains(page, want) {
			t.Errorf("the flame graph's page, of %d bytes, has no %s", len(page), want)
		}
	}
}

// pprofTool is the path of go tool pprof. The go command would take a second for each run, and would not
// pass on the signal that ends a server.
func pprofTool(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(tool(t, "go", "tool", "-n", "pprof"))
}

// freeAddress is one that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// fetch gets a page of a server that may not be there at once.
func fetch(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second}
	deadline := time.Now().Add(30 * time.Second)
	response, err := client.Get(url)
	for err != nil && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		response, err = client.Get(url)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v", url, response.Status, err)
	}
	return string(body)
}

//go:build browsertest

package export

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a Chromium that is driven over pipes, so that no port and no library is needed.
type browser struct {
	in      *os.File
	out     *bufio.Reader
	last    int
	session string
	server  *httptest.Server
	trace   []byte
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed")
	}
	commands, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
		"--window-size=1600,1000", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{commands, out}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	commands.Close()
	out.Close()
	b := &browser{in: in, out: bufio.NewReader(answers)}
	watchdog := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	b.server = httptest.NewServer(b.pages(t))
	t.Cleanup(func() {
		b.call(t, "Browser.close", nil, nil)
		cmd.Wait()
		watchdog.Stop()
		b.server.Close()
	})
	return b
}

// pages serves the viewer, its parts as Go has them, and the trace.
func (b *browser) pages(t *testing.T) http.Handler {
	root := strings.TrimSpace(tool(t, "go", "env", "GOROOT"))
	mux := http.NewServeMux()
	mux.Handle("/static/", http.FileServer(http.Dir(filepath.Join(root, "src/internal/trace/traceviewer"))))
	mux.HandleFunc("/trace", func(w http.ResponseWriter, _ *http.Request) { w.Write(b.trace) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/chrome_viewer.html") })
	return mux
}

// call calls a method of the DevTools protocol: messages end with a NUL.
func (b *browser) call(t *testing.T, method string, params map[string]any, result any) {
	t.Helper()
	b.last++
	message := map[string]any{"id": b.last, "method": method, "params": params}
	if b.session != "" && method != "Browser.close" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		text, err := b.out.ReadBytes(0)
		if err != nil {
			t.Fatalf("%s: the browser has ended: %v", method, err)
		}
		var answer struct {
			ID     int
			Error  json.RawMessage
			Result json.RawMessage
		}
		if err := json.Unmarshal(text[:len(text)-1], &answer); err != nil {
			t.Fatal(err)
		}
		if answer.ID != b.last { // an event
			continue
		}
		if answer.Error != nil {
			t.Fatalf("%s: %s", method, answer.Error)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

// view opens the viewer with a trace and returns what it made of that.
func (b *browser) view(t *testing.T, trace []byte) (m viewerModel) {
	t.Helper()
	b.trace, b.session = trace, ""
	var target struct{ TargetID string }
	b.call(t, "Target.createTarget", map[string]any{"url": b.server.URL}, &target)
	var session struct{ SessionID string }
	b.call(t, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var answer struct {
			Result struct{ Value json.RawMessage }
		}
		b.call(t, "Runtime.evaluate", map[string]any{"expression": "window.result", "returnByValue": true}, &answer)
		if answer.Result.Value != nil {
			if err := json.Unmarshal(answer.Result.Value, &m); err != nil {
				t.Fatal(err)
			}
			return m
		}
		if time.Now().After(deadline) {
			t.Fatal("the viewer hasn't loaded the trace after a minute")
		}
	}
}

// screenshot writes a picture of the viewer into the directory build.
func (b *browser) screenshot(t *testing.T, name string) {
	t.Helper()
	time.Sleep(time.Second) // it draws when it finds the time
	var picture struct{ Data string }
	b.call(t, "Page.captureScreenshot", nil, &picture)
	png, err := base64.StdEncoding.DecodeString(picture.Data)
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs(filepath.Join("..", "build", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("screenshot: %s", file)
}

package view

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const origin = "https://viewer.example"

// serve serves a file and returns its address and where the end of serving is told.
func serve(t *testing.T, write func(io.Writer) error) (url string, ended chan error) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f := NewFile("my trace.pftrace", origin, write)
	ended = make(chan error, 1)
	go func() { ended <- f.Serve(l) }()
	return "http://" + l.Addr().String() + f.Path(), ended
}

func ask(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func wait(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on serving")
		return nil
	}
}

func TestServe(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	url, ended := serve(t, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if !strings.HasSuffix(url, "/my_trace.pftrace") {
		t.Errorf("the address is %q", url)
	}
	other := url[:strings.LastIndexByte(url, '/')]
	for _, tt := range []struct {
		what, method, url string
		header            []string
		want              int
	}{
		{"the root", "GET", url[:strings.Index(url[7:], "/")+8], nil, 404},
		{"without the name", "GET", other + "/", nil, 404},
		{"another name", "GET", other + "/trace", nil, 404},
		{"a guess", "GET", strings.Replace(url, "/my", "x/my", 1), nil, 404},
		{"another page", "GET", url, []string{"Origin", "https://evil.example"}, 403},
		{"a page without an origin", "GET", url, []string{"Origin", "null"}, 403},
		{"another name for this machine", "GET", url, []string{"Host", "evil.example"}, 403},
		{"a change", "POST", url, nil, 405},
		{"a look", "HEAD", url, nil, 405},
		{"the browser's question", "OPTIONS", url, []string{"Origin", origin, "Access-Control-Request-Private-Network", "true"}, 204},
	} {
		response, _ := ask(t, tt.method, tt.url, tt.header...)
		if response.StatusCode != tt.want {
			t.Errorf("%s: status %d, want %d", tt.what, response.StatusCode, tt.want)
		}
		if tt.want == 204 && (response.Header.Get("Access-Control-Allow-Origin") != origin ||
			response.Header.Get("Access-Control-Allow-Private-Network") != "true") {
			t.Errorf("%s: got %v", tt.what, response.Header)
		}
	}
	response, body := ask(t, "GET", url, "Origin", origin)
	if response.StatusCode != 200 || body != string(content) || response.Header.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("status %d, %d bytes, %v", response.StatusCode, len(body), response.Header)
	}
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it goes on listening")
	}
}

// TestServeBrokenOff is about a page that was closed while it got the file: the next gets all of it.
func TestServeBrokenOff(t *testing.T) {
	started := make(chan bool, 2)
	release := make(chan bool, 2)
	url, ended := serve(t, func(w io.Writer) error {
		started <- true
		<-release
		for range 2_000 {
			if _, err := w.Write(make([]byte, 10_000)); err != nil {
				return err
			}
		}
		return nil
	})
	response := make(chan *http.Response)
	go func() {
		r, err := http.Get(url)
		if err != nil {
			t.Error(err)
		}
		response <- r
	}()
	<-started
	if busy, _ := ask(t, "GET", url); busy.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second page meanwhile: status %d", busy.StatusCode)
	}
	release <- true
	(<-response).Body.Close()
	for {
		release <- true
		r, body := ask(t, "GET", url)
		if r.StatusCode == http.StatusServiceUnavailable { // that the first has gone shows after a while
			<-release
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if len(body) != 20_000_000 {
			t.Errorf("the next page gets %d bytes", len(body))
		}
		break
	}
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
}

// TestServeError is about a file that turns out bad: the page must not take what it got for all.
func TestServeError(t *testing.T) {
	bad := errors.New("the trace is bad")
	url, ended := serve(t, func(w io.Writer) error {
		w.Write(make([]byte, 100_000))
		return bad
	})
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if n, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Errorf("the page took %d bytes for the whole file", n)
	}
	if err := wait(t, ended); !errors.Is(err, bad) {
		t.Errorf("got error %v", err)
	}
}

// TestServeMalformed is about what no browser sends: it is refused, and the next request is answered.
func TestServeMalformed(t *testing.T) {
	url, _ := serve(t, func(io.Writer) error { return nil })
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	get := "GET /" + path + " HTTP/1.1\r\n"
	for _, tt := range []struct{ what, send, want string }{
		{"nothing", "", "400"},
		{"a line of nothing", "\r\n\r\n", "400"},
		{"no version", "GET /" + path + "\r\nHost: " + host + "\r\n\r\n", "400"},
		{"an old version", "GET /" + path + " HTTP/1.0\r\nHost: " + host + "\r\n\r\n", "400"},
		{"no host", get + "\r\n", "400"},
		{"two hosts", get + "Host: " + host + "\r\nHost: evil.example\r\n\r\n", "400"},
		{"two origins", get + "Host: " + host + "\r\nOrigin: " + origin + "\r\nOrigin: https://evil.example\r\n\r\n", "400"},
		{"a header without a colon", get + "Host: " + host + "\r\nOrigin\r\n\r\n", "400"},
		{"a header that is cut off", get + "Host: " + host, "400"},
		{"a header without an end", get + strings.Repeat("Padding: 0123456789\r\n", requestSize/20), "400"},
		{"a body", "OPTIONS /" + path + " HTTP/1.1\r\nhost: " + host + "\r\nContent-Length: 3\r\n\r\nabc", "204"},
	} {
		conn, err := net.Dial("tcp4", host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, tt.send); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 "+tt.want+" ") || !strings.HasSuffix(string(got), "\r\n\r\n") {
			t.Errorf("%s: got %q, %v, want %s", tt.what, got, err, tt.want)
		}
		conn.Close()
	}
}

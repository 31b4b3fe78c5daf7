//go:build linux

package bootunit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// testName is a name that no other test program has.
func testName(t *testing.T) string { return fmt.Sprintf("@bootscope-%s-%d", t.Name(), os.Getpid()) }

func TestControl(t *testing.T) {
	name := testName(t)
	if _, _, err := ask(name, AskStatus, time.Second); !errors.Is(err, ErrNotRecording) {
		t.Errorf("nobody listens: %v", err)
	}
	arrived := make(chan bool, 8)
	c, err := listen(name)
	if err != nil {
		t.Fatal(err)
	}
	c.Serve(func() { arrived <- true })
	if _, err := listen(name); !errors.Is(err, ErrRecording) {
		t.Errorf("a second one: %v", err)
	}
	go func() {
		for range arrived {
			switch r := <-c.Requests; r.Ask {
			case AskStop:
				r.Answer(Status{Error: "the disk is full"})
			case AskJoin:
				r.Answer(Status{File: r.Of})
			default:
				r.Answer(Status{Bytes: 42, WaitsFor: "quiet"})
			}
		}
	}()
	if s, _, err := ask(name, AskStatus, 5*time.Second); err != nil || s.Bytes != 42 || s.WaitsFor != "quiet" {
		t.Errorf("status: %+v, %v", s, err)
	}
	if _, _, err := ask(name, AskStop, 5*time.Second); err == nil || err.Error() != "the disk is full" {
		t.Errorf("stop: %v", err)
	}
	const want = "/system.slice/x.service"
	if s, pid, err := ask(name, AskJoin+" "+want, 5*time.Second); err != nil || pid != os.Getpid() || s.File != want {
		t.Errorf("join: %+v, process %d, %v", s, pid, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(name, AskStatus, time.Second); !errors.Is(err, ErrNotRecording) {
		t.Errorf("after the end: %v", err)
	}
}

func TestControlThatHangs(t *testing.T) {
	name := testName(t)
	c, err := listen(name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Serve(func() {})
	if _, _, err := ask(name, AskStatus, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("got %v", err)
	}
}

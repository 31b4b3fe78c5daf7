//go:build linux

package bootunit

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestControl(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run", "control")
	if _, err := ask(socket, AskStatus, time.Second); !errors.Is(err, ErrNotRecording) {
		t.Errorf("nobody listens: %v", err)
	}
	arrived := make(chan bool, 8)
	c, err := listen(socket, func() { arrived <- true })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen(socket, func() {}); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second one: %v", err)
	}
	go func() {
		for range arrived {
			r := <-c.Requests
			if r.Ask == AskStop {
				r.Answer(Status{Error: "the disk is full"})
			} else {
				r.Answer(Status{Bytes: 42, WaitsFor: "quiet"})
			}
		}
	}()
	if s, err := ask(socket, AskStatus, 5*time.Second); err != nil || s.Bytes != 42 || s.WaitsFor != "quiet" {
		t.Errorf("status: %+v, %v", s, err)
	}
	if _, err := ask(socket, AskStop, 5*time.Second); err == nil || err.Error() != "the disk is full" {
		t.Errorf("stop: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(socket, AskStatus, time.Second); !errors.Is(err, ErrNotRecording) {
		t.Errorf("after the end: %v", err)
	}
}

func TestControlThatHangs(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "control")
	c, err := listen(socket, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := ask(socket, AskStatus, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("got %v", err)
	}
}

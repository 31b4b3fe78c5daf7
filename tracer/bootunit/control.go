//go:build linux

package bootunit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// controlSocket is where a running recording answers. It is in a directory that only root can enter.
const controlSocket = runtimeDir + "/control"

// What can be asked.
const (
	AskStatus = "status"
	AskStop   = "stop"
)

// A Status is what a running recording says of itself.
type Status struct {
	Since      float64  `json:"since_s"`       // when all was attached, in seconds from boot
	For        float64  `json:"recorded_s"`    // how long it records
	Bytes      int64    `json:"bytes"`         // of the recording, so far
	File       string   `json:"file"`          // that it is written to; "" while it waits in memory
	NotWritten string   `json:"not_written"`   // why it waits in memory, or ""
	Lost       uint64   `json:"lost"`          // events
	CPU        float64  `json:"cpu_s"`         // of the recorder
	MaxRSS     int64    `json:"max_rss_bytes"` // of the recorder
	WaitsFor   string   `json:"waits_for"`     // what will end it
	Off        []string `json:"probes_off"`    // probes that record nothing
	Error      string   `json:"error,omitempty"`
}

// A Request is a question to a running recording. Exactly one answer has to be given.
type Request struct {
	Ask    string
	answer chan Status
}

// Answer sends the answer on its way.
func (r Request) Answer(s Status) { r.answer <- s }

// A Control listens for requests.
type Control struct {
	listener net.Listener
	Requests chan Request
}

// Listen begins to listen. arrived is called after each request was put into the channel.
func Listen(arrived func()) (*Control, error) { return listen(controlSocket, arrived) }

func listen(socket string, arrived func()) (*Control, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, err
	}
	if answers(socket) {
		return nil, errors.New("a recording runs already: bootscope stop ends it")
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &Control{listener: listener, Requests: make(chan Request, 4)}
	go c.accept(arrived)
	return c, nil
}

// answers tells whether somebody listens at a socket. At most boots there is none, and no refused client is
// to be seen in the recording.
func answers(socket string) bool {
	if !exists(socket) {
		return false
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// Close ends listening and removes the socket.
func (c *Control) Close() error { return c.listener.Close() }

func (c *Control) accept(arrived func()) {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		go c.serve(conn, arrived)
	}
}

func (c *Control) serve(conn net.Conn, arrived func()) {
	defer conn.Close()
	line, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if err != nil {
		return
	}
	r := Request{Ask: strings.TrimSpace(line), answer: make(chan Status, 1)}
	c.Requests <- r
	arrived()
	_ = json.NewEncoder(conn).Encode(<-r.answer) // who asked may be gone
}

// ErrNotRecording says that no recording of a boot runs.
var ErrNotRecording = errors.New("nothing is being recorded")

// Ask asks the running recording. The answer to a stop comes when all is saved.
func Ask(what string, patience time.Duration) (*Status, error) {
	return ask(controlSocket, what, patience)
}

func ask(socket, what string, patience time.Duration) (*Status, error) {
	conn, err := net.Dial("unix", socket)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, ErrNotRecording
	case err != nil:
		return nil, fmt.Errorf("cannot ask the recording: %w", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var s Status
	if _, err = fmt.Fprintln(conn, what); err == nil {
		err = json.NewDecoder(conn).Decode(&s)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("the recording did not answer in %v: systemctl kill %s ends it", patience, UnitName)
	case err != nil:
		return nil, fmt.Errorf("the recording ended before it answered: %w", err)
	case s.Error != "":
		return &s, errors.New(s.Error)
	}
	return &s, nil
}

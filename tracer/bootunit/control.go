//go:build linux

package bootunit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// controlName is where a running recording answers. It is a name that is in no file system (unix(7),
// abstract): a recording that began in an initramfs has it before anything is mounted, and keeps it when
// the root changes. It ends with its owner, and only one can have it. Everybody can reach it, so both
// sides look who the other is.
const controlName = "@bootscope/boot"

// What can be asked.
const (
	AskStatus = "status"
	AskStop   = "stop"
	AskJoin   = "join" // and a cgroup, and maybe a token: become a process of that unit
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
	Of     string // what it is about, if Ask needs that
	answer chan Status
	sent   chan struct{} // closed when the answer is on its way
}

// Answer sends the answer. It waits for that, but not for ever: this process may be about to end.
func (r Request) Answer(s Status) {
	r.answer <- s
	select {
	case <-r.sent:
	case <-time.After(sendPatience):
	}
}

// sendPatience is how long sending a small answer may take on a machine that has no time.
const sendPatience = 5 * time.Second

// A Control listens for requests.
type Control struct {
	listener *net.UnixListener
	Requests chan Request
}

// ErrRecording says that a boot is being recorded already.
var ErrRecording = errors.New("a recording runs already: bootscope stop ends it")

// Listen begins to listen. Who asks waits until Serve.
func Listen() (*Control, error) { return listen(controlName) }

func listen(name string) (*Control, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, ErrRecording
	}
	if err != nil {
		return nil, err
	}
	return &Control{listener: listener, Requests: make(chan Request, 4)}, nil
}

// Serve begins to take requests. arrived is called after each was put into the channel.
func (c *Control) Serve(arrived func()) { go c.accept(arrived) }

// Close ends listening.
func (c *Control) Close() error { return c.listener.Close() }

func (c *Control) accept(arrived func()) {
	for {
		conn, err := c.listener.AcceptUnix()
		if err != nil {
			return
		}
		go c.serve(conn, arrived)
	}
}

// serve answers one request.
func (c *Control) serve(conn *net.UnixConn, arrived func()) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(askPatience))
	line, err := bufio.NewReaderSize(conn, 512).ReadString('\n')
	if err != nil {
		return
	}
	if _, err := trusted(conn); err != nil {
		_ = json.NewEncoder(conn).Encode(Status{Error: err.Error()})
		return
	}
	what, of, _ := strings.Cut(strings.TrimSpace(line), " ")
	r := Request{Ask: what, Of: of, answer: make(chan Status, 1), sent: make(chan struct{})}
	defer close(r.sent)
	c.Requests <- r
	arrived()
	_ = json.NewEncoder(conn).Encode(<-r.answer) // who asked may be gone
}

// askPatience is how long a question may take to arrive once somebody has connected.
const askPatience = 10 * time.Second

// trusted tells who is on the other side: root, or the user that this runs as.
func trusted(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	if ctlErr := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); ctlErr != nil {
		return 0, ctlErr
	}
	if err != nil {
		return 0, fmt.Errorf("who asks is not known: %w", err)
	}
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return 0, errors.New("only root may ask the recording (sudo)")
	}
	return int(peer.Pid), nil
}

// ErrNotRecording says that no recording of a boot runs.
var ErrNotRecording = errors.New("nothing is being recorded")

// Ask asks the running recording. The answer to a stop comes when all is saved.
func Ask(what string, patience time.Duration) (*Status, error) {
	s, _, err := ask(controlName, what, patience)
	return s, err
}

// Join asks the running recording to become a process of the unit that has this cgroup, armed for one boot
// if once isn't empty, and returns its process.
func Join(cgroup, once string, patience time.Duration) (pid int, err error) {
	_, pid, err = ask(controlName, strings.TrimSpace(strings.Join([]string{AskJoin, cgroup, once}, " ")), patience)
	return pid, err
}

func ask(name, what string, patience time.Duration) (*Status, int, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: name, Net: "unix"})
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return nil, 0, ErrNotRecording
	case err != nil:
		return nil, 0, fmt.Errorf("cannot ask the recording: %w", err)
	}
	defer conn.Close()
	peer, err := trusted(conn)
	if err != nil { // somebody else took the name
		return nil, 0, fmt.Errorf("cannot ask the recording: %w", err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	var s Status
	if _, err = fmt.Fprintln(conn, what); err == nil {
		err = json.NewDecoder(conn).Decode(&s)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, peer, fmt.Errorf("the recording did not answer in %v: kill %d ends it", patience, peer)
	case err != nil:
		return nil, peer, fmt.Errorf("the recording ended before it answered: %w", err)
	case s.Error != "":
		return &s, peer, errors.New(s.Error)
	}
	return &s, peer, nil
}

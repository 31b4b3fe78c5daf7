// Package view gives one file to a page in a browser on this machine, once: the page of a viewer, such as
// ui.perfetto.dev, which then shows it without it ever leaving the machine.
//
// It must not know what is in the file, nor how it is made.
package view

import (
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// A File is what is given away.
type File struct {
	Name string // that the viewer shows
	// Origin is the page that may have it, such as https://ui.perfetto.dev: no other page in the browser.
	Origin string
	// Write writes it. It is called again if the page broke off.
	Write func(io.Writer) error

	secret string
}

// NewFile returns a file whose path on the server nobody can guess: other users of this machine can
// reach the server too.
func NewFile(name, origin string, write func(io.Writer) error) *File {
	return &File{Name: plain(name), Origin: origin, Write: write, secret: rand.Text()}
}

// plain keeps what needs no escaping in a URL, whoever reads it.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-", r):
			return r
		}
		return '_'
	}, name)
}

// Path is where the server has the file.
func (f *File) Path() string { return "/" + f.secret + "/" + f.Name }

// maxConnections at once: a browser needs two or three.
const maxConnections = 32

// Serve gives the file away and returns once that was done, or when it can't be written. It closes the
// listener.
func (f *File) Serve(l net.Listener) error {
	s := &server{file: f, host: l.Addr().String(), ended: make(chan error, 2)}
	go func() { s.ended <- s.accept(l) }()
	return errors.Join(<-s.ended, l.Close())
}

type server struct {
	file  *File
	host  string // that requests must name, so that no other site's name leads here
	busy  sync.Mutex
	ended chan error
}

func (s *server) accept(l net.Listener) error {
	slots := make(chan struct{}, maxConnections)
	for {
		slots <- struct{}{}
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { <-slots }()
			defer conn.Close()
			if r, err := readRequest(conn); err != nil {
				reply(conn, "400 Bad Request")
			} else {
				s.answer(conn, r)
			}
		}()
	}
}

func (s *server) answer(conn net.Conn, r *request) {
	switch {
	case r.host != s.host, r.origin != "" && r.origin != s.file.Origin:
		reply(conn, "403 Forbidden")
		return
	case r.path != s.file.Path():
		reply(conn, "404 Not Found")
		return
	}
	header := []string{"Access-Control-Allow-Origin: " + s.file.Origin, "Cache-Control: no-store", "Vary: Origin"}
	switch r.method {
	case "OPTIONS": // browsers ask before a page from outside may reach this machine
		reply(conn, "204 No Content", append(header, "Access-Control-Allow-Methods: GET", "Access-Control-Allow-Private-Network: true")...)
	case "GET":
		s.give(conn, append(header, "Content-Type: application/octet-stream"))
	default:
		reply(conn, "405 Method Not Allowed", append(header, "Allow: GET, OPTIONS")...)
	}
}

// give writes the file to one page at a time. When a page breaks off, the next request gets all of it.
func (s *server) give(conn net.Conn, header []string) {
	if !s.busy.TryLock() {
		reply(conn, "503 Service Unavailable")
		return
	}
	out := newBody(conn, header)
	err := s.file.Write(out)
	if err == nil {
		err = out.end() // without it, the page doesn't take what it got for whole
	}
	if out.broken {
		s.busy.Unlock()
		return
	}
	s.ended <- err // busy for ever: it is given once
}

// Package view gives one file to a page in a browser on this machine, once: the page of a viewer, such as
// ui.perfetto.dev, which then shows it without it ever leaving the machine.
//
// It must not know what is in the file, nor how it is made.
package view

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
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

// Serve gives the file away and returns once that was done, or when it can't be written. It closes the
// listener.
func (f *File) Serve(l net.Listener) error {
	h := &handler{file: f, host: l.Addr().String(), done: make(chan error, 1)}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	server.SetKeepAlivesEnabled(false)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-h.done:
		// What was written is on its way: wait until the page has it.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return errors.Join(err, server.Shutdown(ctx))
	case err := <-served:
		return err
	}
}

type handler struct {
	file *File
	host string // that requests must name, so that no other site's name leads here
	busy sync.Mutex
	done chan error
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	switch {
	case r.Host != h.host, origin != "" && origin != h.file.Origin:
		http.Error(w, "not for you", http.StatusForbidden)
		return
	case r.URL.Path != h.file.Path():
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", h.file.Origin)
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Origin")
	switch r.Method {
	case http.MethodOptions: // browsers ask before a page from outside may reach this machine
		header.Set("Access-Control-Allow-Methods", "GET")
		header.Set("Access-Control-Allow-Private-Network", "true")
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		header.Set("Content-Type", "application/octet-stream")
		h.give(w)
	default:
		header.Set("Allow", "GET, OPTIONS")
		http.Error(w, "GET only", http.StatusMethodNotAllowed)
	}
}

// give writes the file to one page at a time. When a page breaks off, the next request gets all of it.
func (h *handler) give(w http.ResponseWriter) {
	if !h.busy.TryLock() {
		http.Error(w, "another page is getting it", http.StatusServiceUnavailable)
		return
	}
	out := &watched{Writer: w}
	err := h.file.Write(out)
	if out.err != nil {
		h.busy.Unlock()
		panic(http.ErrAbortHandler)
	}
	h.done <- err // busy for ever: it is given once
	if err != nil {
		panic(http.ErrAbortHandler) // the page must not take it for whole
	}
}

// watched keeps the error of a page that broke off apart from those of the file.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil {
		w.err = err
	}
	return n, err
}

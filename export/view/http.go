package view

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"time"
)

// Of HTTP/1.1, here is what it takes to give a file to a browser: one request on each connection, and
// none with a body. The server of net/http would bring TLS, HTTP/2 and multipart forms into the program
// of a board that serves nothing: 3 MB.

const (
	requestTime = 10 * time.Second // in which a request must be there
	requestSize = 64 << 10
	// closeTime is how long the other side may take to get what is on its way to it.
	closeTime = 10 * time.Second
)

// A request is what matters here of a request.
type request struct{ method, path, host, origin string }

func readRequest(conn net.Conn) (*request, error) {
	if err := conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return nil, err
	}
	in := textproto.NewReader(bufio.NewReader(io.LimitReader(conn, requestSize)))
	line, err := in.ReadLine()
	if err != nil {
		return nil, err
	}
	header, err := in.ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	words := strings.Split(line, " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" || len(header["Host"]) != 1 || len(header["Origin"]) > 1 {
		return nil, fmt.Errorf("%q is no request of HTTP/1.1, or its header has no host", line)
	}
	return &request{method: words[0], path: words[1], host: header.Get("Host"), origin: header.Get("Origin")}, nil
}

// writeHead writes the begin of a response. Each line of the header is "Name: value".
func writeHead(w io.Writer, status string, header []string) error {
	lines := append([]string{"HTTP/1.1 " + status, "Connection: close"}, header...)
	_, err := io.WriteString(w, strings.Join(lines, "\r\n")+"\r\n\r\n")
	return err
}

// reply answers without a body. That the other side has gone is its own affair.
func reply(conn net.Conn, status string, header ...string) {
	if !strings.HasPrefix(status, "204") { // which has none by itself
		header = append(header, "Content-Length: 0")
	}
	if writeHead(conn, status, header) == nil {
		finish(conn)
	}
}

// finish waits until the other side has got everything and has closed the connection. To close it before
// would throw away what is on its way, if something is unread on this side.
func finish(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		conn.SetReadDeadline(time.Now().Add(closeTime))
		io.Copy(io.Discard, conn)
	}
}

// A body is the body of a response whose length nobody knows before: it goes in chunks.
type body struct {
	*bufio.Writer
	conn   net.Conn
	broken bool // by the other side
}

func newBody(conn net.Conn, header []string) *body {
	b := &body{conn: conn}
	b.Writer = bufio.NewWriterSize(chunker{b}, 64<<10)
	b.note(writeHead(conn, "200 OK", append(header, "Transfer-Encoding: chunked")))
	return b
}

func (b *body) note(err error) error {
	b.broken = b.broken || err != nil
	return err
}

// end writes the mark by which the other side knows that it has got everything.
func (b *body) end() error {
	if err := b.Flush(); err != nil {
		return err
	}
	if _, err := io.WriteString(b.conn, "0\r\n\r\n"); err != nil {
		return b.note(err)
	}
	finish(b.conn)
	return nil
}

// chunker makes each write a chunk.
type chunker struct{ *body }

func (c chunker) Write(p []byte) (int, error) {
	chunk := net.Buffers{fmt.Appendf(nil, "%x\r\n", len(p)), p, []byte("\r\n")}
	if _, err := chunk.WriteTo(c.conn); err != nil {
		return 0, c.note(err)
	}
	return len(p), nil
}

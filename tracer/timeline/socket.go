package timeline

import (
	"net/netip"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// Socket is a connect, bind or listen that returned.
type Socket struct {
	Thread  *Thread
	Time    uint64
	Call    event.SocketCall
	FD      int32
	Result  int32 // 0 or a negative errno
	Address Address
}

// Address is where a socket listens or connects to; its zero value is none, or one of another family.
type Address struct {
	Path string         // of a Unix socket; an abstract one begins with "@"
	IP   netip.AddrPort // else
}

// Known tells whether there is an address.
func (a Address) Known() bool { return a.Path != "" || a.IP.IsValid() }

func (a Address) String() string {
	if a.IP.IsValid() {
		return a.IP.String()
	}
	return a.Path
}

// Families of addresses, as Linux numbers them everywhere.
const (
	familyUnix = 1
	familyIPv4 = 2
	familyIPv6 = 10
)

func addressOf(e *event.Socket) Address {
	switch e.Family {
	case familyUnix:
		return Address{Path: unixPath(string(e.TailBytes()))}
	case familyIPv4:
		return Address{IP: netip.AddrPortFrom(netip.AddrFrom4([4]byte(e.IP[:4])), e.Port)}
	case familyIPv6:
		return Address{IP: netip.AddrPortFrom(netip.AddrFrom16(e.IP).Unmap(), e.Port)}
	}
	return Address{}
}

// unixPath cleans the path of a Unix socket: it may end with a NUL, or with many. An abstract name has a
// NUL in front, which is shown as "@", as usual. /var/run is /run on every system of today.
func unixPath(s string) string {
	if s == "" {
		return ""
	}
	if s[0] == 0 {
		return "@" + strings.TrimRight(s[1:], "\x00")
	}
	s, _, _ = strings.Cut(s, "\x00")
	if rest, ok := strings.CutPrefix(s, "/var/run/"); ok {
		return "/run/" + rest
	}
	return s
}

func (b *builder) onSocket(th *Thread, e *event.Socket) {
	s := &Socket{
		Thread: th, Time: b.now, Call: event.SocketCall(e.Call), FD: e.Fd, Result: e.Result, Address: addressOf(e),
	}
	for _, sink := range b.sinks {
		sink.Socket(s)
	}
}

package findings

import (
	"fmt"
	"net/netip"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/event/syscalls"
	"github.com/bootscope/bootscope/tracer/timeline"
)

const (
	// A client that asks again within half a second polls, which costs it little.
	minBackoff = 500e6
	// A client that spends less of the time asleep has other work, and would not have been sooner.
	asleep = 0.8
)

// The errors of a connect that found nobody, as Linux numbers them everywhere.
const (
	notFound = -2   // ENOENT: no such Unix socket
	refused  = -111 // ECONNREFUSED
)

// backoff looks for clients that were refused, went to sleep, and slept on when their listener was there.
type backoff struct {
	timeline.Discard
	bound   map[bindKey]timeline.Address
	waiting map[clientKey]*client
	watched map[*timeline.Thread]map[*client]bool
	done    []*client
}

type bindKey struct {
	process *timeline.Process
	fd      int32
}

type clientKey struct {
	process *timeline.Process
	address timeline.Address
}

// client is a process that was refused at an address.
type client struct {
	clientKey
	thread      *timeline.Thread // that was refused last
	first, last uint64           // when it was refused
	count       uint64
	server      *timeline.Process
	listens     uint64 // when the listener came; 0: not yet
	slept       uint64 // since then
	longest     sleep
	tried       uint64 // when it tried again; 0: not before the recording ended
}

// sleep is how long it slept at a stretch, and in which system call.
type sleep struct {
	time    uint64
	syscall uint16
	compat  bool
}

func newBackoff() *backoff {
	return &backoff{
		bound: map[bindKey]timeline.Address{}, waiting: map[clientKey]*client{},
		watched: map[*timeline.Thread]map[*client]bool{},
	}
}

// Socket implements timeline.Sink.
func (x *backoff) Socket(s *timeline.Socket) {
	p := s.Thread.Process
	switch {
	case p == nil:
	case s.Call == event.SocketConnect:
		x.connect(p, s)
	case s.Result != 0:
	case s.Call == event.SocketBind:
		x.bound[bindKey{p, s.FD}] = s.Address
	default:
		x.listen(p, x.bound[bindKey{p, s.FD}], s.Time)
	}
}

func (x *backoff) connect(p *timeline.Process, s *timeline.Socket) {
	key := clientKey{p, s.Address}
	c := x.waiting[key]
	if s.Result != refused && (s.Result != notFound || s.Address.Path == "") {
		if c != nil {
			c.tried = s.Time
			x.settle(c)
		}
		return
	}
	if !s.Address.Known() {
		return
	}
	if c == nil {
		c = &client{clientKey: key, first: s.Time}
		x.waiting[key] = c
	}
	if c.thread != s.Thread {
		delete(x.watched[c.thread], c)
		if x.watched[s.Thread] == nil {
			x.watched[s.Thread] = map[*client]bool{}
		}
		x.watched[s.Thread][c] = true
	}
	// If it is refused although somebody listens, that was not its listener, or is gone.
	c.thread, c.last, c.listens, c.slept, c.server, c.longest = s.Thread, s.Time, 0, 0, nil, sleep{}
	c.count++
}

// settle takes a client off the list of those that wait.
func (x *backoff) settle(c *client) {
	delete(x.waiting, c.clientKey)
	delete(x.watched[c.thread], c)
	if c.listens != 0 {
		x.done = append(x.done, c)
	}
}

func (x *backoff) listen(server *timeline.Process, at timeline.Address, time uint64) {
	for _, c := range x.waiting {
		if c.listens == 0 && serves(at, c.address) {
			c.listens, c.server = time, server
		}
	}
}

// serves tells whether a listener is the one that a client asks for: also one that listens on all addresses.
func serves(listener, wanted timeline.Address) bool {
	if !wanted.IP.IsValid() || !listener.IP.IsValid() {
		return listener.Known() && listener == wanted
	}
	any := listener.IP.Addr()
	return listener.IP.Port() == wanted.IP.Port() &&
		(any == wanted.IP.Addr() || any == netip.IPv6Unspecified() || any.IsUnspecified() && wanted.IP.Addr().Is4())
}

// Interval implements timeline.IntervalSink.
func (x *backoff) Interval(iv *timeline.Interval) {
	if iv.State != timeline.Sleeping {
		return
	}
	for c := range x.watched[iv.Thread] {
		if c.listens == 0 || iv.End <= c.listens {
			continue
		}
		slept := iv.End - max(iv.Start, c.listens)
		c.slept += slept
		if slept > c.longest.time {
			c.longest = sleep{slept, iv.Syscall, iv.Compat}
		}
	}
}

// Find implements Detector.
func (x *backoff) Find(r *Recording) (found []Finding) {
	all := x.done
	for _, c := range x.waiting {
		if c.listens != 0 {
			all = append(all, c)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].listens < all[j].listens || all[i].listens == all[j].listens && all[i].process.PID < all[j].process.PID
	})
	for _, c := range all {
		if c.process.Recorder || c.server.Recorder { // it looks whether another one runs before it listens itself
			continue
		}
		until := c.tried
		if until == 0 {
			until = min(c.process.End, r.End)
		}
		late := until - min(c.listens, until)
		if c.slept >= minBackoff && float64(c.slept) >= asleep*float64(late) {
			found = append(found, c.finding(r, late))
		}
	}
	return found
}

func (c *client) finding(r *Recording, late uint64) Finding {
	outcome := fmt.Sprintf("it tried again at %s", seconds(c.tried))
	if c.tried == 0 {
		outcome = "it had not tried again when it or the recording ended"
	}
	call := "asleep"
	if c.longest.syscall != event.NoSyscall {
		call = "asleep, in " + syscalls.Name(r.Header.Arch, c.longest.compat, c.longest.syscall)
	}
	f := Finding{
		ID: "backoff-sleep", Title: "a client sleeps on although its server is there", Cost: late, PID: c.process.PID,
		Evidence: []string{
			fmt.Sprintf("%s was refused at %s %s, for the last time at %s", processName(c.process), c.address, times(c.count), seconds(c.last)),
			fmt.Sprintf("%s began to listen there at %s", processName(c.server), seconds(c.listens)),
			fmt.Sprintf("the client was %s, for %s more: %s", call, seconds(c.slept), outcome),
		},
		Remedy: "let systemd hold the socket (a .socket unit), so that clients wait instead of being refused, or start the " +
			"client After= its server (Type=notify), or let it try again after a short, constant time",
	}
	if c.process.Unit != nil {
		f.Unit = c.process.Unit.Name
	}
	return f
}

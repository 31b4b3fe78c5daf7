package findings

import (
	"fmt"
	"sort"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// pairs looks for threads that wake each other all the time: a question and an answer, over and over.
type pairs struct{ timeline.Discard }

// minPairRate is how often each wakes the other, at least. What people do, and what a daemon does once in a
// while, is far less.
const minPairRate = 20.0

// A chat is two threads, and what each is woken by the other.
type chat struct {
	a, b     *timeline.Thread
	toA, toB timeline.WakeSource
	rate     float64 // of the one that is woken less often
}

// Find implements Detector. All chats between the same two processes are one finding.
func (pairs) Find(r *Recording) []Finding {
	if !r.idle() {
		return nil
	}
	type key struct{ a, b *timeline.Process }
	groups := map[key][]chat{}
	var order []key
	for _, a := range r.Threads {
		for _, c := range r.chats(a) {
			k := key{c.a.Process, c.b.Process}
			if groups[k] == nil && groups[key{k.b, k.a}] != nil {
				k = key{k.b, k.a}
			}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], c)
		}
	}
	var found []Finding
	for _, k := range order {
		found = append(found, r.chatty(groups[k]))
	}
	return found
}

// chats returns those of a thread with later ones.
func (r *Recording) chats(a *timeline.Thread) (list []chat) {
	seen := map[*timeline.Thread]bool{}
	for _, s := range r.Wakeups.Of(a) {
		b := s.Waker
		if b == nil || b.Index <= a.Index || seen[b] || a.Process.Recorder || b.Process.Recorder {
			continue
		}
		seen[b] = true
		c := chat{a: a, b: b, toA: r.wakes(b, a), toB: r.wakes(a, b)}
		if c.rate = r.perSecond(min(c.toA.Count, c.toB.Count)); c.rate >= minPairRate {
			list = append(list, c)
		}
	}
	return list
}

// wakes sums up how often one thread wakes another; the system call is the one that it did so most in.
func (r *Recording) wakes(waker, th *timeline.Thread) (sum timeline.WakeSource) {
	most := uint64(0)
	sum.Syscall = event.NoSyscall
	for _, s := range r.Wakeups.Of(th) {
		if s.Waker != waker {
			continue
		}
		sum.Count += s.Count
		if s.Count > most {
			most, sum.Syscall, sum.Compat = s.Count, s.Syscall, s.Compat
		}
	}
	return sum
}

func (r *Recording) chatty(list []chat) Finding {
	sort.SliceStable(list, func(i, j int) bool { return list[i].rate > list[j].rate })
	first := list[0]
	f := Finding{
		ID:     "chatty-pair",
		Title:  fmt.Sprintf("%s and %s wake each other %s", first.a.Name(), first.b.Name(), rate(first.rate)),
		Remedy: "send fewer and larger messages, let one subscribe to changes instead of asking, or do the work in one place",
	}
	counted := map[*timeline.Thread]bool{}
	for i, c := range list {
		for _, th := range []*timeline.Thread{c.a, c.b} {
			if !counted[th] {
				counted[th] = true
				f.Cost += th.Times[timeline.Running]
			}
		}
		if i < named {
			f.Evidence = append(f.Evidence, r.describeSide(c.a, c.b, &c.toA), r.describeSide(c.b, c.a, &c.toB))
		}
	}
	if rest := len(list) - named; rest > 0 {
		f.Evidence = append(f.Evidence, fmt.Sprintf("%d more pairs of their threads", rest))
	}
	if first.a.Process == first.b.Process {
		f.PID = first.a.Process.PID
	}
	if u := unitOf(first.a.Process); u == unitOf(first.b.Process) {
		f.Unit = u
	}
	return f
}

func (r *Recording) describeSide(th, by *timeline.Thread, s *timeline.WakeSource) string {
	where := ""
	if call := r.waits(s); call != "" {
		where = ", in " + call + channel(call)
	}
	return fmt.Sprintf("%s is woken by %s %s%s; it takes %s", th.Name(), by.Name(), rate(r.perSecond(s.Count)), where,
		r.share(th.Times[timeline.Running]))
}

// channel says by what means two threads talk when one sleeps in a call.
func channel(call string) string {
	switch call {
	case "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4", "recv", "sendto", "sendmsg":
		return " (a socket)"
	case "read", "readv", "write", "writev", "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2":
		return " (a socket, a pipe or the like)"
	case "futex":
		return " (a lock or a condition variable)"
	}
	return ""
}

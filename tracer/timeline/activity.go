package timeline

import "sort"

// Activity is what threads and CPUs did, by time, to answer what went on in any stretch of the recording.
// Short states that follow each other are summed up in one segment, so its size doesn't depend on the
// number of switches, and a long sleep is one segment; when a recording gets long, the segments do.
type Activity struct {
	width   uint64          // states are summed up to this length
	total   int             // segments
	limit   int             // of them, before they get longer
	threads [][]segment     // by Thread.Index, in order of time
	cpus    [][]busySegment // by CPU
}

// segment is what a thread did for a while.
type segment struct {
	from, to uint64
	times    Times
	call     call   // in which it waited longest
	waited   uint64 // in it
}

// call is a system call, and how a thread waits in it.
type call struct {
	number uint16
	compat bool
	state  State
}

// busySegment is a while in which a CPU ran something for a time.
type busySegment struct{ from, to, busy uint64 }

const (
	segmentWidth = 20e6    // well below what is worth telling of an activation
	maxSegments  = 1 << 17 // about 12 MB
)

func newActivity() *Activity { return &Activity{width: segmentWidth, limit: maxSegments} }

// add takes in a state of a thread. Those of one thread come in order, without gaps.
func (a *Activity) add(th *Thread, s State, from, to uint64) {
	for th.Index >= len(a.threads) {
		a.threads = append(a.threads, nil)
	}
	list := &a.threads[th.Index]
	if n := len(*list); n == 0 || !(*list)[n-1].extend(from, to, a.width) {
		*list = append(*list, segment{from: from, to: to})
		a.total++
	}
	last := &(*list)[len(*list)-1]
	last.times[s] += to - from
	if s == Sleeping || s == Blocked || s == IOWait {
		last.wait(call{th.syscall, th.compat, s}, to-from)
	}
	if s == Running && th.cpu >= 0 {
		a.ran(th.cpu, from, to)
	}
	if a.total > a.limit {
		a.widen()
	}
}

// extend makes a segment reach to a later moment, if that is not too long.
func (s *segment) extend(from, to, width uint64) bool {
	if to-s.from > width || from < s.from {
		return false
	}
	s.to = to
	return true
}

// wait notes a wait in a call.
func (s *segment) wait(c call, ns uint64) {
	switch {
	case s.call == c:
		s.waited += ns
	case ns > s.waited:
		s.call, s.waited = c, ns
	}
}

func (a *Activity) append(list []segment, next segment) []segment {
	if n := len(list); n > 0 && list[n-1].extend(next.from, next.to, a.width) {
		list[n-1].times.Add(&next.times)
		list[n-1].wait(next.call, next.waited)
		return list
	}
	a.total++
	return append(list, next)
}

func (a *Activity) ran(cpu int, from, to uint64) {
	for cpu >= len(a.cpus) {
		a.cpus = append(a.cpus, nil)
	}
	a.cpus[cpu] = a.appendBusy(a.cpus[cpu], busySegment{from, to, to - from})
}

func (a *Activity) appendBusy(list []busySegment, next busySegment) []busySegment {
	if n := len(list); n > 0 && next.from >= list[n-1].from && next.to-list[n-1].from <= a.width {
		list[n-1].to = max(list[n-1].to, next.to)
		list[n-1].busy += next.busy
		return list
	}
	a.total++
	return append(list, next)
}

// widen makes segments longer until there are few enough again. If there are very many threads, that is
// never so: then more are allowed.
func (a *Activity) widen() {
	for a.total > a.limit/2 {
		if a.total <= 2*len(a.threads) {
			a.limit = 2 * a.total
			return
		}
		a.width *= 2
		a.total = 0
		for i, list := range a.threads {
			a.threads[i] = rejoined(list, a.append)
		}
		for i, list := range a.cpus {
			a.cpus[i] = rejoined(list, a.appendBusy)
		}
	}
}

func rejoined[S any](list []S, add func([]S, S) []S) []S {
	joined := list[:0]
	for _, s := range list {
		joined = add(joined, s)
	}
	return joined
}

// Did is what threads did in a stretch of time. Where states were summed up, a part of them is an
// estimate: off by 20 ms at either end of the stretch, or a little more in a recording of many minutes.
type Did struct {
	Times Times
	// Waited is how long they waited in the system call in which they waited longest, and State how.
	Waited  uint64
	State   State
	Syscall uint16
	Compat  bool
}

// Did returns what threads did, all together, in a stretch of time.
func (a *Activity) Did(threads []*Thread, from, to uint64) Did {
	var d Did
	waits := map[call]uint64{}
	var order []call // so that the answer is the same each time
	for _, th := range threads {
		if th.Index >= len(a.threads) || from >= to {
			continue
		}
		list := a.threads[th.Index]
		for i := sort.Search(len(list), func(i int) bool { return list[i].to > from }); i < len(list) && list[i].from < to; i++ {
			s := &list[i]
			part := share(s.from, s.to, from, to)
			for state, ns := range s.times {
				d.Times[state] += scaled(ns, part)
			}
			if s.waited > 0 {
				if _, ok := waits[s.call]; !ok {
					order = append(order, s.call)
				}
				waits[s.call] += scaled(s.waited, part)
			}
		}
	}
	for _, c := range order {
		if waits[c] > d.Waited {
			d.Waited, d.State, d.Syscall, d.Compat = waits[c], c.state, c.number, c.compat
		}
	}
	return d
}

// busy returns how long all CPUs together ran something.
func (a *Activity) busy(from, to uint64) (sum uint64) {
	for _, list := range a.cpus {
		for i := sort.Search(len(list), func(i int) bool { return list[i].to > from }); i < len(list) && list[i].from < to; i++ {
			sum += scaled(list[i].busy, share(list[i].from, list[i].to, from, to))
		}
	}
	return sum
}

// share is the part of one stretch that lies in another.
func share(from, to, start, end uint64) float64 {
	if from >= start && to <= end || to <= from {
		return 1
	}
	return float64(min(to, end)-max(from, start)) / float64(to-from)
}

func scaled(ns uint64, part float64) uint64 {
	if part >= 1 {
		return ns
	}
	return uint64(float64(ns) * part)
}

// Idle returns which part of all CPUs' time was idle in a stretch of time, as far as it was recorded.
func (t *Timeline) Idle(from, to uint64) (part float64, known bool) {
	from, to = max(from, t.Start), min(to, t.End)
	if !t.Can.Sched || from >= to {
		return 0, false
	}
	all := t.CPUTime(from, to)
	return max(0, 1-float64(t.Activity.busy(from, to))/float64(max(all, 1))), true
}

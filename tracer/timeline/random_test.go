package timeline

import (
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// memory is a source of events that are made in memory.
type memory struct {
	header  tracefile.Header
	trailer *tracefile.Trailer
	events  func(yield func(event.Event, error) bool)
}

func (m *memory) Header() *tracefile.Header             { return &m.header }
func (m *memory) Trailer() *tracefile.Trailer           { return m.trailer }
func (m *memory) Problems() []tracefile.Problem         { return nil }
func (m *memory) Events() iter.Seq2[event.Event, error] { return m.events }

func probesOn() (list []tracefile.ProbeStatus) {
	for p := range event.ProbeCount {
		list = append(list, tracefile.ProbeStatus{Name: p.String(), Status: tracefile.StatusOn})
	}
	return list
}

// eventsFrom makes events of bytes, any bytes: few ids, so that they collide, and times that mostly go on
// but jump, too.
func eventsFrom(data []byte) func(yield func(event.Event, error) bool) {
	return func(yield func(event.Event, error) bool) {
		time := uint64(1e9)
		for ; len(data) >= 8; data = data[8:] {
			d := data
			if time += uint64(d[1]) * 1000; d[1] == 255 {
				time -= 2e6
			}
			h := event.Header{Time: time, TID: uint32(d[2] % 8), PID: uint32(d[3] % 8), CPU: uint16(d[4] % 3)}
			target, flag := uint32(d[5]%8), d[6]
			if !yield(eventOf(d[0], h, target, flag, d[7]), nil) {
				return
			}
		}
	}
}

func eventOf(kind byte, h event.Header, target uint32, flag, more byte) event.Event {
	switch kind % 20 {
	case 0, 1, 2, 3, 4:
		h.PID = 0
		return &event.Switch{Header: h, Next: target, State: flag % 9, Syscall: uint16(more)}
	case 5, 6, 7:
		h.PID = 0
		return &event.Waking{Header: h, Target: target}
	case 8:
		return &event.Fork{Header: h, ChildTID: target, ChildPID: uint32(flag % 8)}
	case 9:
		return &event.Exec{Header: h, OldTID: target}
	case 10:
		return &event.Exit{Header: h, Flags: uint32(flag & 1), Status: int32(more)}
	case 11:
		return &event.Task{Header: h, Phase: flag & 1, State: "RSDTZI"[more%6], Start: uint64(more) * 1e7}
	case 12:
		return &event.Lost{Header: h, Probe: uint16(flag % 3), Count: 1}
	case 13:
		return &event.Rename{Header: h, Target: target}
	case 14:
		return &event.CgroupAttach{Header: h, Target: target, Cgroup: uint64(flag)}
	}
	return storageEventOf(kind%20, h, flag, more)
}

func storageEventOf(kind byte, h event.Header, flag, more byte) event.Event {
	switch kind {
	case 15:
		return &event.Open{Header: h, Result: int32(int8(flag))}
	case 16:
		return &event.Read{Header: h, Start: h.Time - uint64(more)*1000, Last: h.Time, Inode: uint64(flag % 4), Pages: 1, Syscall: event.NoSyscall + uint16(flag%2)}
	case 17:
		return &event.Reclaim{Header: h, Phase: uint16(flag % 2), Kind: uint16(flag / 2 % 2), Cgroup: uint64(more % 3), Pages: uint64(more)}
	case 18:
		return &event.Sync{Header: h, Syscall: uint16(more)}
	}
	return &event.Fault{Header: h}
}

// checkBytes builds from bytes and fails unless everything adds up, in the model and in the intervals.
func checkBytes(t *testing.T, data []byte, complete bool) {
	src := &memory{header: tracefile.Header{Start: 1e9 + 20000, Probes: probesOn()}, events: eventsFrom(data)}
	if complete {
		src.trailer = &tracefile.Trailer{End: 1e9 + 5e6}
	}
	var got intervals
	tl, err := Build(src, &got)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, tl)
	for i, th := range tl.Threads {
		if th.Index != i {
			t.Errorf("thread %d has index %d", i, th.Index)
		}
		if got.sum[th] != th.Times {
			t.Errorf("thread %d: intervals sum up to %v, states are %v", th.TID, got.sum[th], th.Times)
		}
	}
	for _, p := range tl.Processes {
		live := 0
		for _, th := range p.Threads {
			if th.Process != p {
				t.Errorf("process %d has a thread of process %d", p.PID, th.Process.PID)
			}
			if !th.Exited && th.ContinuedAs == nil {
				live++
			}
		}
		if p.live != live || p.Ended && live > 0 {
			t.Errorf("process %d: %d threads alive, %d counted, ended %v", p.PID, live, p.live, p.Ended)
		}
	}
}

func TestRandomEventsAddUp(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 8*(1+random.IntN(200)))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		checkBytes(t, data, seed%2 == 0)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte("\x00\x10\x00\x00\x00\x01\x02\x03\x05\x10\x00\x00\x01\x01\x00\x00"), true)
	f.Fuzz(checkBytes)
}

// BenchmarkBuild takes a million switches and wakings of 200 threads on 4 CPUs.
func BenchmarkBuild(b *testing.B) {
	const events = 1e6
	src := &memory{header: tracefile.Header{Start: 1e9, Probes: probesOn()}}
	src.events = func(yield func(event.Event, error) bool) {
		random := rand.New(rand.NewPCG(1, 1))
		var running [4]uint32
		var sw event.Switch
		var wake event.Waking
		for i := range uint64(events / 2) {
			cpu := uint16(i % 4)
			next := 1000 + random.Uint32N(50)*4 + uint32(cpu)
			wake = event.Waking{Header: event.Header{Time: 1e9 + i*1000, TID: running[cpu], CPU: cpu}, Target: next}
			sw = event.Switch{
				Header: event.Header{Time: 1e9 + i*1000 + 500, TID: running[cpu], CPU: cpu}, Next: next, State: uint8(i % 5), Syscall: uint16(i % 3),
			}
			running[cpu] = next
			if !yield(&wake, nil) || !yield(&sw, nil) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(src, Discard{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}

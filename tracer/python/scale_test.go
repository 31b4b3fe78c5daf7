package python

import (
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// bigBoot is a recording of many interpreters that start at once: each opens modules in a tree, with as many
// samples and twice as many context switches.
type bigBoot struct{ interpreters, opens int }

func (b *bigBoot) Header() *tracefile.Header {
	h := &tracefile.Header{CPUs: 4, Specs: event.Specs}
	for _, p := range []event.Probe{event.ProbeSched, event.ProbeProcess, event.ProbeOpen, event.ProbeFault, event.ProbeSample} {
		h.Probes = append(h.Probes, tracefile.ProbeStatus{Name: p.String(), Status: tracefile.StatusOn})
	}
	return h
}
func (b *bigBoot) Trailer() *tracefile.Trailer   { return nil }
func (b *bigBoot) Problems() []tracefile.Problem { return nil }

func (b *bigBoot) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		now := uint64(1e9)
		send := func(e event.Event, kind event.Kind, pid uint32) bool {
			h := e.Head()
			h.Time, h.PID, h.TID, h.Kind, h.CPU = now, pid, pid, uint16(kind), uint16(pid%4)
			return yield(e, nil)
		}
		exe := &event.Path{File: 1}
		exe.SetPath("/usr/bin/python3.11")
		if !send(exe, event.KindPath, 1) {
			return
		}
		perProcess := b.opens / b.interpreters
		for i := range perProcess {
			p := &event.Path{File: uint64(i + 2), Inode: uint64(i + 2)}
			p.SetPath(fmt.Sprintf("/usr/lib/python3/dist-packages/p%d/__pycache__/m%d.cpython-311.pyc", i/20, i))
			if !send(p, event.KindPath, 1) {
				return
			}
		}
		for pid := range b.interpreters {
			e := &event.Exec{Exe: 1, OldTID: uint32(100 + pid)}
			if !send(e, event.KindExec, uint32(100+pid)) {
				return
			}
		}
		for i := range perProcess {
			for n := range b.interpreters {
				pid := uint32(100 + n)
				sp := uint64(0x7ffe00000000 - 1632*(i%10+1))
				now += 20_000
				ok := send(&event.Switch{Next: pid, State: uint8(event.StatePreempted)}, event.KindSwitch, 0) &&
					send(&event.Open{File: uint64(i + 2), Result: 3, UserSP: sp}, event.KindOpen, pid) &&
					send(&event.Sample{UserSP: sp + 900}, event.KindSample, pid)
				now += 200_000
				if !ok || !send(&event.Switch{State: uint8(event.StatePreempted)}, event.KindSwitch, pid) {
					return
				}
			}
		}
	}
}

// analyse builds everything and returns how long that took and what it holds.
func analyse(tb testing.TB, b *bigBoot) (time.Duration, []*Interpreter) {
	tb.Helper()
	start := time.Now()
	c := NewCollector()
	if _, err := timeline.Build(b, c); err != nil {
		tb.Fatal(err)
	}
	list := c.Interpreters()
	return time.Since(start), list
}

// TestScale analyses 40 interpreters with 60,000 opens, which must take under 2 s, and shows that memory
// grows with the recording and not faster.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	took, list := analyse(t, &bigBoot{40, 60_000})
	modules := 0
	for _, in := range list {
		modules += len(in.Modules)
		if in.Calibration.Step != 1632 {
			t.Fatalf("step %d", in.Calibration.Step)
		}
	}
	if len(list) != 40 || modules != 60_000 {
		t.Errorf("%d interpreters with %d modules", len(list), modules)
	}
	t.Logf("40 interpreters and 60,000 opens took %v", took)
	for i := 0; i < 3 && took > 2*time.Second; i++ { // others may use the machine, too
		took, _ = analyse(t, &bigBoot{40, 60_000})
	}
	if took > 2*time.Second {
		t.Errorf("40 interpreters and 60,000 opens took %v", took)
	}
	small, big := heapOf(t, &bigBoot{40, 20_000}), heapOf(t, &bigBoot{40, 60_000})
	t.Logf("memory for 20,000 opens: %d KiB, for 60,000: %d KiB", small>>10, big>>10)
	if float64(big) > 3.5*float64(small) {
		t.Errorf("three times the opens take %.1f times the memory", float64(big)/float64(small))
	}
}

func heapOf(t *testing.T, b *bigBoot) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, list := analyse(t, b)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(list)
	return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
}

func BenchmarkAnalyse(b *testing.B) {
	for b.Loop() {
		analyse(b, &bigBoot{40, 60_000})
	}
}

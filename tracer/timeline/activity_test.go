package timeline

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestDid(t *testing.T) {
	tl := build(t, `
		10.000 100 task state=S start=2s comm="a"
		10.000 101 task state=S start=2s comm="b"
		10.100 [0] 0 waking target=100
		10.200 [0] 0 switch next=100
		10.500 [0] 100 switch next=101 state=sleeping syscall=232
		10.700 [0] 101 switch next=0 state=sleeping syscall=35
		11.500 [0] 0 waking target=100
		11.600 [0] 0 switch next=100
		11.800 [0] 100 switch next=0 state=io_wait syscall=0
		trailer {"end_ns":12000000000}`)
	a := tl.Threads[0]
	for _, c := range []struct {
		from, to float64
		want     string
	}{
		{10, 12, "running 500, runnable 200, io_wait 200, sleeping 1100; 1000 in 232"},
		{10.3, 10.6, "running 200, sleeping 100; 100 in 232"},
		{11, 11.7, "running 100, runnable 100, sleeping 500; 500 in 232"},
		{20, 21, "; 0 in 0"},
		{1, 2, "; 0 in 0"},
	} {
		d := tl.Activity.Did([]*Thread{a}, uint64(c.from*1e9), uint64(c.to*1e9))
		var states []string
		for s, ns := range d.Times {
			if ms := (ns + 5e5) / 1e6; ms > 0 {
				states = append(states, fmt.Sprintf("%s %d", State(s), ms))
			}
		}
		if got := fmt.Sprintf("%s; %d in %d", strings.Join(states, ", "), (d.Waited+5e5)/1e6, d.Syscall); got != c.want {
			t.Errorf("%g..%g: got %s, want %s", c.from, c.to, got, c.want)
		}
	}
	for _, c := range []struct{ from, to, want float64 }{{10, 12, 0.65}, {10.2, 10.7, 0}, {10.8, 11.5, 1}, {5, 12, 0.65}, {11.5, 11.7, 0.5}} {
		if got, ok := tl.Idle(uint64(c.from*1e9), uint64(c.to*1e9)); !ok || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("idle from %g to %g: %g, %v, want %g", c.from, c.to, got, ok, c.want)
		}
	}
	if _, ok := tl.Idle(1e9, 2e9); ok {
		t.Error("it is known what was before the recording")
	}
}

// A long recording gets longer segments, not more of them, and loses no time.
func TestActivityWidens(t *testing.T) {
	a := newActivity()
	a.limit = 1000
	th := &Thread{liveThread: liveThread{cpu: 0}}
	at, want := uint64(0), Times{}
	for i := range 20000 {
		for _, s := range []struct {
			State
			ns uint64
		}{{Running, 13e6}, {Sleeping, uint64(30+i%7) * 1e6}} {
			a.add(th, s.State, at, at+s.ns)
			want[s.State] += s.ns
			at += s.ns
		}
	}
	if a.total > 1000 || len(a.threads[0])+len(a.cpus[0]) != a.total {
		t.Errorf("%d segments", a.total)
	}
	if got := a.Did([]*Thread{th}, 0, at); got.Times != want || a.busy(0, at) != want[Running] {
		t.Errorf("got %v, want %v; busy %d", got.Times, want, a.busy(0, at))
	}
	half := a.Did([]*Thread{th}, at/4, at/2)
	if got, want := float64(half.Times[Running]), float64(want[Running])/4; math.Abs(got/want-1) > 0.01 {
		t.Errorf("in a quarter it ran %g, want %g", got, want)
	}
}

// More threads than there may be segments.
func TestActivityOfManyThreads(t *testing.T) {
	a := newActivity()
	a.limit = 10
	for i := range 5000 {
		a.add(&Thread{Index: i, liveThread: liveThread{cpu: -1}}, Sleeping, 0, 1e9)
	}
	if a.total != 5000 {
		t.Errorf("%d segments of 5000 threads", a.total)
	}
}

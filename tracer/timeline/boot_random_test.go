package timeline

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// anyTime makes a time of a byte: mostly one that can be, else unset, in the future, or computed below zero.
func anyTime(b byte) uint64 {
	switch {
	case b < 20:
		return 0
	case b < 30:
		return 1 << 63
	case b < 40:
		return ^uint64(0) - uint64(b)
	}
	return uint64(b) * 1e7
}

// toldFrom makes what systemd and the logs say of bytes, any bytes.
func toldFrom(data []byte) func(yield func(event.Event, error) bool) {
	return func(yield func(event.Event, error) bool) {
		for ; len(data) >= 8; data = data[8:] {
			d, told := data, event.Header{Time: anyTime(data[1])}
			var e event.Event
			switch d[0] % 6 {
			case 0, 1, 2:
				e = &event.Unit{Header: told, Activating: anyTime(d[2]), Active: anyTime(d[3]), Deactivating: anyTime(d[4]),
					Inactive: anyTime(d[5]), CaughtLive: uint32(d[6] & 1)}
				e.Head().SetTail(fmt.Appendf(nil, "Id=%d\x00After=%d %d %d\x00", d[7]%8, d[6]%8, d[5]%8, d[4]%8))
			case 3:
				e = &event.Manager{Header: told, Firmware: anyTime(d[2]), Loader: anyTime(d[3]), Initrd: anyTime(d[4]),
					Userspace: anyTime(d[5]), Finished: anyTime(d[6])}
			case 4:
				e = &event.Milestone{Header: told}
				e.Head().SetTail(fmt.Appendf(nil, "m\x00unit:%d.x\x00", d[2]%8))
			case 5:
				e = &event.Clock{Header: told, Realtime: binary.LittleEndian.Uint64(d), Reason: uint32(d[6] % 3)}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// checkTold builds a timeline of what it was told, and fails if that has a time that can't be.
func checkTold(t *testing.T, data []byte) {
	src := &memory{header: tracefile.Header{Start: 1e9, Probes: probesOn()}, trailer: &tracefile.Trailer{End: 3e9}, events: toldFrom(data)}
	tl, err := Build(src)
	if err != nil {
		t.Fatal(err)
	}
	const latest = 3e9 + afterEnd + ahead
	for _, p := range tl.Phases() {
		if p.Start < -3*longest || p.End > latest || p.Ended && p.End < p.Start {
			t.Errorf("phase %+v", p)
		}
	}
	for _, u := range tl.Units {
		a := u.Systemd
		if max(a.Activating, a.Active, a.Inactive) > latest || a.Done() != 0 && a.Done() < a.Activating {
			t.Errorf("unit %+v", a)
		}
		at := uint64(0)
		for _, l := range tl.Chain(u) {
			if l.From < at || l.To < l.From || l.To > latest || l.Before > l.From {
				t.Errorf("link of %s: %+v after %d", l.Unit.Name, l, at)
			}
			at = l.To
		}
	}
	tl.Goal()
	if tl.End != 3e9 {
		t.Errorf("the end moved to %d", tl.End)
	}
}

func TestWhateverIsTold(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 8*40)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		if checkTold(t, data); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzTold(f *testing.F) {
	f.Add([]byte("\x00\x60\x30\x40\x00\x00\x01\x02\x03\x60\x00\x00\x30\x40\x50\x00"))
	f.Fuzz(checkTold)
}

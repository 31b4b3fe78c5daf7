package tracefile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// TestLive gives a writer events bit by bit and compares what comes out of the live trace with the file.
func TestLive(t *testing.T) {
	const start = 1_000_000_000
	var file bytes.Buffer
	header := &Header{Start: start}
	w, err := NewWriter(&file, header)
	if err != nil {
		t.Fatal(err)
	}
	clock := func(at uint64) {
		e := event.New(event.KindClock).(*event.Clock)
		e.Time = start + at
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	// A word with the time, and a switch.
	sched := func(cpu int, at, next uint64) {
		units := (start + at) / 8
		words := []uint64{uint64(event.WordTime)<<61 | units, next<<39 | 2<<36 | 511<<27 | units&(1<<27-1)}
		if err := w.Sched(cpu, words); err != nil {
			t.Fatal(err)
		}
	}
	live := &Live{}
	live.Begin(header)
	w.Tell(live)
	// Each round gives some events, not in order, and says up to when they are complete.
	var got []string
	for round, more := range []func(){
		func() { clock(300); sched(1, 200, 7); sched(0, 104, 8); clock(900); live.Release(start + 800) },
		func() { live.Release(start + 850) }, // nothing came
		func() { sched(0, 864, 9); live.Release(start + 2000) },
	} {
		more()
		for e, err := range live.Events() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("round %d: %s", round+1, describe(e)))
		}
	}
	const want = `round 1: 104 *event.Switch on 0
round 1: 200 *event.Switch on 1
round 1: 300 *event.Clock on 0
round 3: 864 *event.Switch on 0
round 3: 900 *event.Clock on 0`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("live gives\n%s\nwant\n%s", text, want)
	}
	if err := w.Close(&Trailer{End: start + 2000}); err != nil {
		t.Fatal(err)
	}
	f, err := read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for e, err := range f.Events() {
		if err != nil || k >= len(got) || !strings.HasSuffix(got[k], describe(e)) {
			t.Fatalf("event %d of the file is %v, %v: live had %q", k, e, err, got)
		}
		k++
	}
}

func describe(e event.Event) string {
	return fmt.Sprintf("%d %T on %d", e.Head().Time-1_000_000_000, e, e.Head().CPU)
}

package findings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const header = `header {"start_ns":10000000000,"cpus":2,"recorder_pid":900,"probes":[{"name":"sched","status":"on"},{"name":"process","status":"on"}]}
`

// find builds a trace and looks for contention.
func find(t *testing.T, trace string) []Finding {
	t.Helper()
	src, err := tracefile.ParseText(t.Name(), strings.NewReader(header+trace))
	if err != nil {
		t.Fatal(err)
	}
	all := New(src.Header().Start)
	tl, err := timeline.Build(src, all.Sinks()...)
	if err != nil {
		t.Fatal(err)
	}
	return all.Find(&Recording{Timeline: tl})
}

// turns lets threads run in turns of 20 ms on CPU 0, from one moment to another (in ms). Before that and
// after it all sleep.
func turns(from, to int, tids ...int) string {
	var b strings.Builder
	for _, tid := range tids {
		fmt.Fprintf(&b, "10.000 %d task state=S comm=\"p%d\" start=1s\n", tid, tid)
		fmt.Fprintf(&b, "%s [1] 0 waking target=%d\n", ms(from), tid)
	}
	last := 0
	for at, i := from, 0; at < to; at, i = at+20, i+1 {
		next := tids[i%len(tids)]
		if next != last {
			fmt.Fprintf(&b, "%s [0] %d switch next=%d state=preempted\n", ms(at), last, next)
		}
		last = next
	}
	fmt.Fprintf(&b, "%s [0] %d switch next=0 state=sleeping\n", ms(to), last)
	for _, tid := range tids {
		if tid != last { // that they all fall asleep at once is not possible, but simple
			fmt.Fprintf(&b, "%s [0] 0 switch next=%d\n%s [0] %d switch next=0 state=sleeping\n", ms(to), tid, ms(to), tid)
		}
	}
	return b.String()
}

func ms(n int) string { return fmt.Sprintf("%d.%03d", 10+n/1000, n%1000) }

func TestContention(t *testing.T) {
	const end = "trailer {\"end_ns\":14000000000}\n"
	for _, c := range []struct {
		name, trace string
		want        string // "", or "from to cost"
	}{
		{"two programs on one CPU", turns(500, 1500, 100, 101) + end, "10.500 s to 11.500 s, cost 500 ms"},
		{"three programs on one CPU", turns(500, 2300, 100, 101, 102) + end, "10.500 s to 12.300 s, cost 1200 ms"},
		{"one busy program", turns(0, 4000, 100) + end, ""},
		{"a short blip", turns(500, 900, 100, 101, 102) + end, ""},
		{"nothing", end, ""},
		{"the recorder is no competitor", turns(500, 1500, 100, 900) + end, ""},
		{"threads of one program", "10.000 100 task state=S comm=\"p\" start=1s\n10.000 100/101 task state=S comm=\"p\" start=1s\n" +
			strings.ReplaceAll(strings.ReplaceAll(turns(500, 1500, 102, 103), " 102 task", " 100/102 task"), " 103 task", " 100/103 task") + end, ""},
		{"processes of one name", strings.ReplaceAll(turns(500, 1500, 100, 101), "p101", "p100") + end,
			"10.500 s to 11.500 s, cost 500 ms"},
		{"cut off", turns(500, 1500, 100, 101), "10.500 s to 11.500 s, cost 500 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, f := range find(t, c.trace) {
				span, _, _ := strings.Cut(strings.TrimPrefix(f.Evidence[0], "from "), " (")
				got += fmt.Sprintf("%s, cost %d ms", span, f.Cost/1e6)
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestContentionSaysWho(t *testing.T) {
	found := find(t, turns(500, 1500, 100, 101)+"trailer {\"end_ns\":14000000000}\n")
	if len(found) != 1 {
		t.Fatalf("%d findings", len(found))
	}
	want := []string{
		"from 10.500 s to 11.500 s (1.000 s) programs waited 1.000 s for a CPU while they ran 1.000 s on 2 CPUs",
		"p100 (pid 100) waited 0.500 s and ran 0.500 s",
		"p101 (pid 101) waited 0.500 s and ran 0.500 s",
	}
	if got := strings.Join(found[0].Evidence, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if found[0].ID != "cpu-contention" || found[0].Remedy == "" {
		t.Errorf("%+v", found[0])
	}
}

func TestCostliestFirst(t *testing.T) {
	found := find(t, turns(0, 600, 100, 101)+turns(2000, 4000, 100, 101)+"trailer {\"end_ns\":15000000000}\n")
	if len(found) != 2 || found[0].Cost < found[1].Cost {
		t.Fatalf("got %+v", found)
	}
}

// However long a recording is, and however its times jump, the slots stay few.
func TestSlotsGetWider(t *testing.T) {
	s := newSlots(5e9)
	a, b := &timeline.Thread{Index: 0}, &timeline.Thread{Index: 3}
	s.add(a, 5e9, 6e9, running)
	s.add(a, 6e9, 5e9+3600e9, waiting)
	s.add(b, 100e9, 101e9, running)
	s.add(b, 1<<63, 1<<63+7, running)
	if n := len(s.threads[0]); n > maxSlots {
		t.Errorf("%d slots", n)
	}
	if got, want := s.between(0, 0, maxSlots), [2]uint64{1e9, 3599e9}; got != want {
		t.Errorf("between: %v, want %v", got, want)
	}
	if got, want := s.between(3, 0, maxSlots), [2]uint64{1e9 + 7, 0}; got != want {
		t.Errorf("between: %v, want %v", got, want)
	}
	s.add(b, ^uint64(0)-5, ^uint64(0), waiting)
	if got := s.between(3, 0, maxSlots); got[waiting] != 5 {
		t.Errorf("at the end of time: %v", got)
	}
}

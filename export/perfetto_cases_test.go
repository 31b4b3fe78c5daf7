package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bootscope/bootscope/export/perfettotest"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const perfettoHeader = `header {"start_ns":1000000000,"probes":[{"name":"sched","status":"on","via":"tp_btf"},{"name":"process","status":"on"},{"name":"open","status":"on"},{"name":"cpufreq","status":"on"}]}
`

// TestPerfettoCases looks at what single events become. Each trace is also compared with the recording,
// as all are.
func TestPerfettoCases(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		got        func(*perfettotest.Trace) string
		want       string
	}{
		{"who left is known from the first switch on, and after a loss", `
			1.1 [0] 1 switch next=2 state=sleeping
			1.2 [0] 2 switch next=3 state=idle
			1.3 [0] 0 lost probe=sched reason=full count=9
			1.4 [0] 7 switch next=0 state=preempted
			1.5 [1] 0 waking target=7
			1.6 [1] 0 switch next=7`,
			func(tr *perfettotest.Trace) (s string) {
				for _, w := range tr.Switches {
					s += fmt.Sprintf("%d>%d ", w.Prev, w.Next)
				}
				return s + fmt.Sprint(tr.LostOn)
			}, "1>2 2>3 7>0 0>7 [0]"},
		{"a waking has the CPU where its task ran last", `
			1.1 [2] 1 switch next=2 state=sleeping
			1.2 [2] 2 switch next=0 state=sleeping
			1.3 [0] 0 waking target=2
			1.4 [0] 0 waking target=1
			1.5 [2] 0 waking target=2 by=irq number=4
			1.6 [2] 0 waking target=2 by=timer_wheel`,
			func(tr *perfettotest.Trace) (s string) {
				for _, w := range tr.Wakings {
					s += fmt.Sprint(w.TargetCPU, " ", w.Flags, " ")
				}
				return s
			}, "2 0 -1 0 2 8 2 16 "},
		{"an id is used again", `
			1.1 [0] 1 fork child_tid=50 child_pid=50
			1.15 [0] 1 switch next=50 state=sleeping
			1.2 [0] 50 open result=3 name="/a"
			1.3 [0] 50 exit
			1.4 [0] 50 switch next=1 state=dead
			1.5 [0] 1 fork child_tid=50 child_pid=50
			1.6 [0] 50 open result=3 name="/b"`,
			func(tr *perfettotest.Trace) string {
				return fmt.Sprint(tr.Frees, threadTracksOf(tr, 50), processTracksOf(tr, 50))
			}, "[{1400000000 50}] 2 2"},
		{"a process ends with its last thread", `
			1.1 [0] 1 fork child_tid=50 child_pid=50
			1.2 [0] 50 fork child_tid=51 child_pid=50
			1.3 [0] 50 exit
			1.35 [0] 50 switch next=51 state=dead
			1.4 [0] 50/51 exit
			1.5 [0] 50/51 switch next=1 state=dead`,
			func(tr *perfettotest.Trace) string { return fmt.Sprint(tr.NewTasks[1].Thread, tr.Frees) },
			"true [{1500000000 51} {1500000000 50}]"},
		{"a thread that is not the first calls exec", `
			1.1 [0] 1 fork child_tid=50 child_pid=50
			1.2 [0] 50 fork child_tid=51 child_pid=50
			1.25 [0] 1 switch next=51 state=sleeping
			1.3 [0] 50 rename target=50 comm="new"
			1.4 [0] 50 exec old_tid=51 name="/new"
			1.5 [0] 50 args total=4B argv=["new"]
			1.6 [0] 50 switch next=1 state=sleeping`,
			func(tr *perfettotest.Trace) string {
				last := tr.Switches[len(tr.Switches)-1]
				return fmt.Sprint(last.Prev, last.Next, tr.Processes[0])
			}, "50 1 {1400000000 50 1 [new] false}"},
		{"the wall clock steps back", `
			1.1 [0] 0 clock realtime=1000s monotonic=1.05s
			1.2 [0] 0 clock realtime=500s monotonic=1.15s reason=stepped`,
			func(tr *perfettotest.Trace) string { return fmt.Sprint(tr.Clocks[1:]) },
			"[map[1:1000000000000 3:1050000000 6:1100000000] map[1:500000000000 3:1150000000 6:1200000000]]"},
		{"processes are in their unit", `
			1.1 [0] 0 cgroup cgroup=7 path="/system.slice/a.service"
			1.1 [0] 50 task cgroup=7 comm="one" state=S
			1.1 [0] 60 task comm="two" state=S
			1.1 [0] 70 task comm="kthread" kernel_thread=1 state=S`,
			func(tr *perfettotest.Trace) string { return strings.Join(livesOf(tr), ", ") },
			"Units/a.service/one, Units/in no unit/two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.got(reread(t, parse(t, tt.name, perfettoHeader+tt.text)))
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestPerfettoFindings is about programs that compete for CPUs.
func TestPerfettoFindings(t *testing.T) {
	trace := reread(t, parseFile(t, "report/testdata/hogs.trace"))
	for _, e := range trace.Events {
		if e.Args["id"] != "cpu-contention" {
			continue
		}
		if trace.Tracks[e.Track].Name != "Findings" || !strings.HasPrefix(e.Name, "at most ") ||
			e.Args["cost_ns"].(int64) <= 0 || e.Args["evidence"] == nil || e.Args["remedy"] == nil {
			t.Errorf("got %+v on track %q", e, trace.Tracks[e.Track].Name)
		}
		return
	}
	t.Error("no finding of cpu-contention")
}

func threadTracksOf(tr *perfettotest.Trace, tid int64) (n int) {
	for _, track := range tr.Tracks {
		if track.TID == tid {
			n++
		}
	}
	return n
}

func processTracksOf(tr *perfettotest.Trace, pid int64) (n int) {
	for _, track := range tr.Tracks {
		if track.PID == pid && track.TID == 0 {
			n++
		}
	}
	return n
}

// livesOf returns the path of each track that shows a process's life.
func livesOf(tr *perfettotest.Trace) (paths []string) {
	for _, e := range tr.Events {
		if e.Category != "process" {
			continue
		}
		var names []string
		for track := tr.Tracks[e.Track]; track.UUID != 0; track = tr.Tracks[track.Parent] {
			names = append([]string{track.Name}, names...)
		}
		paths = append(paths, strings.Join(names, "/"))
	}
	slices.Sort(paths)
	return paths
}

// TestPerfettoForgets writes more different strings than are kept: the reader has to know each when it is
// referred to, which perfettotest checks.
func TestPerfettoForgets(t *testing.T) {
	var text strings.Builder
	text.WriteString(perfettoHeader)
	const files = 3000
	long := strings.Repeat("x", 4000)
	for i := range files {
		fmt.Fprintf(&text, "1.%06d [0] 50 open result=-2 name=\"/%s/%d\"\n", 100_000+i, long, i)
	}
	source := parse(t, "forgets", text.String())
	var w heapWatcher
	if err := writePerfetto(&w, source); err != nil {
		t.Fatal(err)
	}
	if opens := len(reread(t, source).Events); opens < files {
		t.Errorf("%d events", opens)
	}
	p := newPerfettoWriter(&w)
	for i := range 4 * files {
		a := p.args()
		a.text("path", fmt.Sprint(long, i))
		p.instant(1, 1, "open", "open", a)
		if p.held > maxHeld+2*len(long) {
			t.Fatalf("it holds %d bytes", p.held)
		}
	}
}

func FuzzPerfetto(f *testing.F) {
	for _, file := range traces(f) {
		var b strings.Builder
		if err := tracefile.WriteText(&b, parseFile(f, file)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.String())
	}
	f.Add("1.5 [000] 1 switch next=2\n1.4 [001] 1 switch next=2\n")
	f.Add("1.5 [009] 4294967295 fork child_tid=0 child_pid=4294967295\n1.6 [000] 0 exec old_tid=7\n")
	f.Fuzz(func(t *testing.T, text string) {
		source, err := tracefile.ParseText("fuzz", strings.NewReader(text))
		if err != nil {
			t.Skip()
		}
		var b strings.Builder
		if err := writePerfetto(&b, source); err != nil {
			t.Skip()
		}
		if err := checkWire([]byte(b.String()), 0); err != nil {
			t.Error(err)
		}
	})
}

// checkWire checks that bytes are fields, down to the packets.
func checkWire(b []byte, depth int) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 || depth == 0 {
				return fmt.Errorf("field %d at depth %d: %w", number, depth, protowire.ParseError(n))
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if depth == 0 {
			if err := checkWire(value, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestPerfettoStrings(t *testing.T) {
	source := parse(t, "strings", perfettoHeader+`
		1.1 [0] 50 rename target=50 comm="a\x00b\xff\xfe"
		1.2 [0] 1 switch next=50 state=sleeping
		1.3 [0] 50 exec old_tid=50 name="/tmp/\xc3("
		1.4 [0] 50 open result=-2 name="\xff\n\"\\"`)
	for _, e := range reread(t, source).Events {
		if !utf8.ValidString(e.Name) {
			t.Errorf("%q is no UTF-8", e.Name)
		}
		if e.Category == "open" && (e.Args["path"] != "\ufffd\n\"\\" || e.Args["path_hex"] != "ff0a225c") {
			t.Errorf("got %q", e.Args)
		}
	}
}

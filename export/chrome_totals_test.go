package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func chromeWith(t testing.TB, source tracefile.Source, options Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeChrome(&b, source, options); err != nil {
		t.Fatal(err)
	}
	if err := checkChrome(b.Bytes()); err != nil {
		t.Fatalf("%+v: %v", options, err)
	}
	return b.Bytes()
}

// TestChromeTotals adds up the times of each thread in each state, to the nanosecond, for every trace that
// tests have, in both forms in which states are shown.
func TestChromeTotals(t *testing.T) {
	for _, file := range traces(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source := parseFile(t, file)
			tl, err := timeline.Build(source)
			if err != nil {
				t.Fatal(err)
			}
			tracks := newChromeTracks(tl)
			for _, options := range []Options{{}, {Compat: true, Flows: true}} {
				got := stateTimes(decodeChrome(t, chromeWith(t, source, options)))
				for _, th := range tl.Threads {
					for s := range th.Times {
						name, track := timeline.State(s).String(), tracks.of(th)
						if timeline.State(s) == timeline.Unknown {
							continue
						}
						if ns := got[fmt.Sprintf("%d/%d %s", track.pid, track.tid, name)]; ns != th.Times[s] {
							t.Errorf("%+v: %s is %s for %d ns, want %d", options, th.Name(), name, ns, th.Times[s])
						}
					}
				}
			}
		})
	}
}

// stateTimes adds up the states by track, whichever way they are shown.
func stateTimes(events []chromeEvent) map[string]uint64 {
	times := map[string]uint64{}
	stacks := map[string][]chromeSpan{}
	for _, e := range events {
		track := fmt.Sprintf("%s/%s ", e.PID, e.TID)
		switch e.Phase {
		case "T":
			var a struct {
				IOWait int `json:"io_wait"`
			}
			if json.Unmarshal(e.Args, &a) != nil {
				continue
			}
			name := map[string]string{"Running": "running", "R": "runnable", "R+": "runnable", "S": "sleeping", "D": "blocked", "T": "stopped"}[e.Name]
			if a.IOWait != 0 {
				name = timeline.IOWait.String()
			}
			times[track+name] += nanoseconds(e.Dur)
		case "B":
			stacks[track] = append(stacks[track], chromeSpan{e.Name, nanoseconds(e.TS)})
		case "E":
			top := stacks[track][len(stacks[track])-1]
			stacks[track] = stacks[track][:len(stacks[track])-1]
			if len(stacks[track]) > 0 { // the outermost is the thread's life
				times[track+top.name] += nanoseconds(e.TS) - top.begin
			}
		}
	}
	return times
}

// TestChromeImports wants every import, and each within the one that asked for it.
func TestChromeImports(t *testing.T) {
	source := parseFile(t, "../tracer/python/testdata/behalf.trace")
	s, err := surveyOf(source)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, in := range s.interpreters {
		want += len(in.Modules)
	}
	for _, options := range []Options{{}, {Compat: true}} {
		got := 0
		for _, e := range decodeChrome(t, chromeWith(t, source, options)) {
			if e.Phase == "B" && len(e.Name) > 7 && e.Name[:7] == "import " {
				got++
			}
		}
		if got != want || want < 10 {
			t.Errorf("%+v: %d imports, want %d", options, got, want)
		}
	}
}

// openCounter is a sink that counts opens.
type openCounter struct {
	timeline.Discard
	good, failed uint64
}

func (c *openCounter) Open(o *timeline.Open) {
	if o.Result < 0 {
		c.failed++
	} else {
		c.good++
	}
}

// chromeTotals is what JavaScript makes of trace events.
type chromeTotals struct {
	Events   int
	States   map[string]uint64
	Instants map[string]uint64
	CPU      uint64 `json:"cpu_ns"`
}

// TestChromeNode lets JavaScript read the output: numbers must be what was written, and sums what the
// timeline has.
func TestChromeNode(t *testing.T) {
	dir, files := t.TempDir(), traces(t)
	args := []string{filepath.Join("testdata", "chrome_totals.js")}
	for i, file := range files {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, chrome(t, parseFile(t, file)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	d := json.NewDecoder(strings.NewReader(tool(t, "node", args...)))
	for _, file := range files {
		var got chromeTotals
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		var opens openCounter
		tl, err := timeline.Build(parseFile(t, file), &opens)
		if err != nil {
			t.Fatal(err)
		}
		var times timeline.Times
		for _, p := range tl.Processes {
			times.Add(&p.Times)
		}
		if got.States["Running"] != times[timeline.Running] || got.States["R"] != times[timeline.Runnable] ||
			got.States["S"] != times[timeline.Sleeping] || got.States["D io"] != times[timeline.IOWait] ||
			got.States["D"] != times[timeline.Blocked] || got.CPU > times[timeline.Running] ||
			got.Instants["open"] != opens.good || got.Instants["failed open"] != opens.failed {
			t.Errorf("%s: node reads %+v, the timeline has %v and opens %+v", file, got, times, opens)
		}
	}
}

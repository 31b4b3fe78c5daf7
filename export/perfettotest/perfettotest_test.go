package perfettotest_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/export/perfettotest"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// TestCompareNotices changes one thing at a time in what was read back: a comparison that lets it pass
// would prove nothing.
func TestCompareNotices(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed (package protobuf-compiler)")
	}
	text, err := os.ReadFile("../../testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	source, err := tracefile.ParseText("story.txt", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	format, _ := export.Find("perfetto")
	var b bytes.Buffer
	if err := format.Write(&b, source, export.Options{}); err != nil {
		t.Fatal(err)
	}
	decoded, err := perfettotest.Decode(protoc, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*perfettotest.Trace){
		"a switch is missing":       func(tr *perfettotest.Trace) { tr.Switches = tr.Switches[1:] },
		"a nanosecond":              func(tr *perfettotest.Trace) { tr.Switches[2].Time++ },
		"who left":                  func(tr *perfettotest.Trace) { tr.Switches[1].Prev++ },
		"the state":                 func(tr *perfettotest.Trace) { tr.Switches[0].State = 2 },
		"a name":                    func(tr *perfettotest.Trace) { tr.Switches[0].Name += "x" },
		"who woke":                  func(tr *perfettotest.Trace) { tr.Wakings[0].Waker++ },
		"a waking twice":            func(tr *perfettotest.Trace) { tr.Wakings = append(tr.Wakings, tr.Wakings[0]) },
		"a rename":                  func(tr *perfettotest.Trace) { tr.Renames[0].New = "" },
		"a fork is a thread":        func(tr *perfettotest.Trace) { tr.NewTasks[0].Thread = true },
		"an end is missing":         func(tr *perfettotest.Trace) { tr.Frees = nil },
		"I/O wait":                  func(tr *perfettotest.Trace) { tr.Blocked[0].IOWait = !tr.Blocked[0].IOWait },
		"the initial frequency":     func(tr *perfettotest.Trace) { tr.Frequencies = tr.Frequencies[1:] },
		"a clock":                   func(tr *perfettotest.Trace) { tr.Clocks = append(tr.Clocks, nil) },
		"a loss":                    func(tr *perfettotest.Trace) { tr.LostOn = nil },
		"a path":                    func(tr *perfettotest.Trace) { first(tr, "open").Args["path"] = "/" },
		"an open's thread":          func(tr *perfettotest.Trace) { tr.Tracks[first(tr, "open").Track].TID++ },
		"a fault's time":            func(tr *perfettotest.Trace) { first(tr, "fault").Time-- },
		"how many events were lost": func(tr *perfettotest.Trace) { first(tr, "loss").Args["count"] = int64(1) },
		"a life":                    func(tr *perfettotest.Trace) { first(tr, "process").Category = "" },
		"an exec":                   func(tr *perfettotest.Trace) { first(tr, "exec").Category = "" },
		"a slice has no end":        func(tr *perfettotest.Trace) { tr.Events = tr.Events[:len(tr.Events)-1] },
	} {
		trace, err := perfettotest.Read(decoded)
		if err != nil {
			t.Fatal(err)
		}
		change(trace)
		differences, err := perfettotest.Compare(source, trace)
		if err != nil {
			t.Fatal(err)
		}
		if len(differences) == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// first returns the first event of a category.
func first(tr *perfettotest.Trace, category string) *perfettotest.Event {
	for i := range tr.Events {
		if tr.Events[i].Category == category {
			return &tr.Events[i]
		}
	}
	return nil
}

// TestReadRefuses gives what no reader could make sense of.
func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a field without a name":            "packet {\n  9: 1\n}\n",
		"no end":                            "packet {\n",
		"too many ends":                     "}\n",
		"an unknown string":                 "packet {\n  sequence_flags: 3\n  track_descriptor {\n    uuid: 7\n  }\n}\npacket {\n  track_event {\n    type: 1\n    track_uuid: 7\n    name_iid: 4\n  }\n}\n",
		"a track of which nothing is known": "packet {\n  track_event {\n    type: 2\n    track_uuid: 7\n  }\n}\n",
		"a first switch in a column": "packet {\n  ftrace_events {\n    cpu: 0\n    compact_sched {\n      switch_timestamp: 5\n      switch_prev_state: 1\n" +
			"      switch_next_pid: 1\n      switch_next_prio: 1\n      intern_table: \"x\"\n      switch_next_comm_index: 0\n    }\n  }\n}\n",
		"columns of different lengths": "packet {\n  ftrace_events {\n    cpu: 0\n    compact_sched {\n      switch_timestamp: 5\n    }\n  }\n}\n",
	} {
		if _, err := perfettotest.Read([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

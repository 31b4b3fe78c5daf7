package tracefile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/event"
)

func TestTextGolden(t *testing.T) {
	text := parseFile(t, "python-start.txt")
	golden.Check(t, "dump-python-start.golden", textOf(t, text))
}

// Whatever the fields of an event hold, whichever kind, comes back from its line.
func TestTextEveryField(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	decoder, err := event.NewDecoder(event.Specs)
	if err != nil {
		t.Fatal(err)
	}
	w := newTextWriter(&Header{})
	for _, spec := range event.Specs {
		for round := range 50 {
			wire := make([]byte, spec.Size)
			for i := range wire {
				if round > 0 { // all zero the first time
					wire[i] = byte(rnd.Uint32() >> 8 >> (rnd.Uint32() % 17))
				}
			}
			binary.LittleEndian.PutUint16(wire[16:], uint16(spec.Kind))
			binary.LittleEndian.PutUint32(wire[20:], 0)
			e, _, err := decoder.Next(wire)
			if err != nil {
				t.Fatal(err)
			}
			line := string(w.line(e))
			for got := range parse(t, line).Events() {
				if !bytes.Equal(got.AppendTo(nil), wire) {
					t.Fatalf("%x came back as %x from %s", wire, got.AppendTo(nil), line)
				}
			}
		}
	}
}

// Text to binary to text, and text to text, change nothing.
func TestTextRoundTrip(t *testing.T) {
	text := parseFile(t, "python-start.txt")
	want := textOf(t, text)
	if got := textOf(t, parse(t, want)); got != want {
		t.Errorf("text, read again, is\n%s\nwas\n%s", got, want)
	}
	var b bytes.Buffer
	if err := WriteBinary(&b, text); err != nil {
		t.Fatal(err)
	}
	f := mustRead(t, b.Bytes())
	if got := textOf(t, f); got != want {
		t.Errorf("as a file, it is\n%s\nwas\n%s", got, want)
	}
	// A trace that was cut off stays so.
	cut := parse(t, "1 fork child_tid=2")
	b.Reset()
	if err := WriteBinary(&b, cut); err != nil {
		t.Fatal(err)
	}
	if mustRead(t, b.Bytes()).Trailer() != nil {
		t.Error("a trailer came out of nothing")
	}
}

func TestTextDefaults(t *testing.T) {
	text := parse(t, "\n# a comment\n  2.5 [003] 7 switch next=9 state=sleeping\r\n1.25 fork\ntrailer {}\n")
	h := text.Header()
	if h.CPUs != 4 || !slices.Equal(h.Online, []int{0, 1, 2, 3}) || h.Start != 1.25e9 || h.PageSize != 4096 || h.TickHz != 100 {
		t.Errorf("header %+v", h)
	}
	if end := text.Trailer().End; end != 2.5e9 {
		t.Errorf("the trailer's end is %d", end)
	}
	var events []event.Event
	for e, err := range text.Events() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if _, ok := events[0].(*event.Fork); !ok {
		t.Errorf("the events are not in order of time: %T first", events[0])
	}
	sw := events[1].(*event.Switch)
	if sw.TID != 7 || sw.PID != 7 || sw.CPU != 3 || sw.Next != 9 || sw.State != uint8(event.StateSleeping) || sw.Syscall != event.NoSyscall {
		t.Errorf("switch %+v", sw)
	}
	if h := parse(t, `header {"start_ns":0,"cpus":2}`+"\n5 [000] fork").Header(); h.Start != 0 || h.CPUs != 2 || len(h.Online) != 2 {
		t.Errorf("what the header gives was changed: %+v", h)
	}
}

// Any bytes of names come through, and so do tails that are not what their kind has.
func TestTextHostileNames(t *testing.T) {
	var every []byte
	for i := range 256 {
		every = append(every, byte(i))
	}
	tails := []string{"", "\x00", "\x00\x00", "a", "a\x00", "a\x00\x00b", "\x00a\x00", "a/b\x00c\x00", "…\x00x\x00", "]\x00", "\"\x00,\x00",
		"\u2028\u202e\x7f\u009b[31m\x00", string(every), strings.Repeat("n\x00", 64), "a\nb\x00", "=\x00 x=1\x00"}
	kinds := []func() event.Event{
		func() event.Event { return &event.Path{} }, func() event.Event { return &event.Path{Flags: event.PathCut} },
		func() event.Event { return &event.Path{Flags: event.PathNone} }, func() event.Event { return &event.Args{Total: 5} },
		func() event.Event { return &event.Task{} }, func() event.Event { return &event.Open{} },
		func() event.Event { return &event.Exec{} }, func() event.Event { return &event.Cgroup{} },
		func() event.Event { return &event.Fork{} },
		func() event.Event { return &event.Rename{Comm: [16]byte(every[5:21])} },
	}
	names := []event.Kind{event.KindPath, event.KindPath, event.KindPath, event.KindArgs, event.KindTask, event.KindOpen,
		event.KindExec, event.KindCgroup, event.KindFork, event.KindRename}
	w := newTextWriter(&Header{})
	for i, make := range kinds {
		for _, tail := range tails {
			e := make()
			h := e.Head()
			*h = event.Header{Time: 1, TID: 2, PID: 3, Kind: uint16(names[i]), CPU: 4}
			h.SetTail([]byte(tail))
			line := string(w.line(e))
			if strings.Count(line, "\n") != 1 || strings.ContainsAny(line[:len(line)-1], "\x00\x1b\x7f\r\u009b") {
				t.Errorf("control bytes in %q", line)
			}
			for got := range parse(t, line).Events() {
				if !bytes.Equal(got.AppendTo(nil), e.AppendTo(nil)) {
					t.Errorf("%q came back as %q", e.AppendTo(nil), got.AppendTo(nil))
				}
			}
		}
	}
}

func TestTextErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"1 fork\nx", `test:2: expected a time, "header", "trailer" or a comment: "x" is not a time`},
		{"1.0123456789 fork", "at most 9 decimals"},
		{"99999999999 fork", "is not a time"},
		{"1", "expected the name of an event"},
		{"1 [000] 5", "expected the name of an event"},
		{"1 [x] 5 fork", "[x] is not a CPU"},
		{"1 [99999] 5 fork", "is not a CPU"},
		{"1 5/x fork", "is not a process and a thread"},
		{"1 5 frok", `no event is called "frok": expected one of args, cgroup,`},
		{"1 5 fork chld=1", `fork has no field "chld": expected child_tid, child_pid, cgroup, tail`},
		{"1 5 fork child_tid=x", `child_tid: "x" is not a number`},
		{"1 5 fork child_tid=4294967296", "child_tid: 4294967296 does not fit into 4 bytes"},
		{"1 5 fork child_tid", "expected name=value"},
		{"1 5 fork child_tid=", "expected a value"},
		{"1 5 fork child_tid=1 child_tid=1", "child_tid is there twice"},
		{"1 5 switch state=asleep", `"asleep" is not a number or one of preempted, yielded,`},
		{"1 5 exec name=foo", "foo is not a quoted string"},
		{`1 5 exec name="foo`, "expected a value"},
		{`1 5 exec name="a"b`, "expected a value and a space"},
		{`1 5 args argv=["a" "b"]`, "is not a list of quoted strings"},
		{`1 5 args argv=["a"`, "expected a value"},
		{`1 5 rename comm="12345678901234567"`, "17 bytes are more than the 16 possible"},
		{`1 5 path device=1:x`, "is not a device"},
		{`header {"cpu":2}`, `unknown field "cpu"`},
		{`header {"cpus":-2}`, `-2 CPUs are not possible`},
		{"header {}\nheader {}", "test:2: the header stands once"},
		{"1 fork\nheader {}", "test:2: the header stands once, before the first event"},
		{"trailer {}\ntrailer {}", "test:2: a second trailer"},
		{"trailer nothing", "expected a JSON object"},
		{`header {"specs":[{"kind":8,"name":"open2","size":24,"fields":[]}]}`, "has the kind of"},
		{`header {"specs":[{"kind":80,"name":"open","size":24,"fields":[]}]}`, "is there twice"},
	} {
		_, err := ParseText("test", strings.NewReader(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "test:") {
			t.Errorf("%q: got %v, want %q", test.text, err, test.want)
		}
	}
}

// An event of a kind that only the file knows is shown by the file's own spec, and comes back.
func TestUnknownKind(t *testing.T) {
	header := `header {"specs":[{"kind":99,"name":"new_thing","size":40,"fields":[` +
		`{"name":"size","type":"byte_count","offset":24,"size":8},{"name":"delta","type":"s16","offset":32,"size":2,"signed":true},` +
		`{"name":"pair","type":"u16","offset":34,"size":2,"count":2}]}]}` + "\n"
	line := "1.500000000 [001] 7 new_thing size=12B delta=-3 pair=4,5 tail=\"x\\x00\"\n"
	text := parse(t, header+line)
	if got := lines(t, text); !slices.Equal(got, []string{line}) {
		t.Errorf("got %q", got)
	}
	var b bytes.Buffer
	if err := WriteBinary(&b, text); err != nil {
		t.Fatal(err)
	}
	f := mustRead(t, b.Bytes())
	if got := lines(t, f); !slices.Equal(got, []string{line}) {
		t.Errorf("from a file: %q", got)
	}
	if got, want := textOf(t, parse(t, textOf(t, f))), textOf(t, f); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

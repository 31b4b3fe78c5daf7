//go:build linux

package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func parseMilestones(t *testing.T, texts ...string) (list []*milestone.Milestone) {
	t.Helper()
	for _, text := range texts {
		m, err := milestone.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// watchOf is a watch whose recorder only writes, into out.
func watchOf(t *testing.T, out *bytes.Buffer, until string, specs ...string) *milestoneWatch {
	t.Helper()
	writer, err := tracefile.NewWriter(out, &tracefile.Header{Tool: "test", CPUs: 1, Online: []int{0}, PageSize: 4096, TickHz: 100})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{writer: writer, options: Options{Notice: t.Logf}}
	w, err := newMilestoneWatch(r, parseMilestones(t, specs...), until)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// milestonesIn reads back what was written.
func milestonesIn(t *testing.T, w *milestoneWatch, out *bytes.Buffer) map[string]uint64 {
	t.Helper()
	if err := w.recorder.writer.Flush(); err != nil {
		t.Fatal(err)
	}
	f, err := tracefile.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()), "test")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.(*event.Milestone); ok {
			found[splitTail(m.TailBytes())[0]] = m.Time
		}
	}
	return found
}

func TestMilestonesInEvents(t *testing.T) {
	var out bytes.Buffer
	w := watchOf(t, &out, "b", "a=open:/etc/x", "b=exec:/bin/y", "c=unit:z.service", "d=open:/never", "e=open:/named")
	exec := event.New(event.KindExec).(*event.Exec)
	exec.Time = 30
	exec.SetTail([]byte("/bin/y"))
	var raw []byte
	for _, e := range []event.Event{
		openEvent(5, 0, -2, "/etc/x"), // not there yet
		pathEvent(1, "/etc/x"), pathEvent(2, "/etc/xy"),
		openEvent(10, 2, 3, ""), openEvent(20, 1, 3, ""), openEvent(21, 1, 3, ""), // the first time counts
		openEvent(25, 0, 4, "/named"), // without BTF
		exec,
	} {
		raw = e.AppendTo(raw)
	}
	if reason, _ := w.round(); reason != "" {
		t.Errorf("it ends before anything came: %s", reason)
	}
	w.events(raw)
	u := event.New(event.KindUnit).(*event.Unit)
	w.unit("z.service", u) // not active yet
	u.Active = 40
	w.unit("other.service", u)
	w.unit("z.service", u)
	if reason, _ := w.round(); reason != "milestone b was reached" {
		t.Errorf("it ends because %q", reason)
	}
	got, want := milestonesIn(t, w, &out), map[string]uint64{"a": 20, "b": 30, "c": 40, "e": 25}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMilestoneInLog reads a file that grows line by line and is rotated, with lines of an earlier boot.
func TestMilestoneInLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	var out bytes.Buffer
	w := watchOf(t, &out, "", "r=log:"+name+":READY:%Y-%m-%d %H:%M:%S,%f")
	stamp := func(ago time.Duration) string { return time.Now().Add(-ago).Format("2006-01-02 15:04:05.000000") }
	write := func(flags int, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := w.round(); err != nil {
			t.Fatal(err)
		}
	}
	comma := func(s string) string { return s[:19] + "," + s[20:] }
	write(0, comma(stamp(24*365*50*time.Hour))+" READY of an earlier boot\n"+comma(stamp(0))+" starting\n")
	write(os.O_TRUNC, "a new file\n")
	line := comma(stamp(0)) + " READY now\n"
	now := system.BootTime()
	write(os.O_APPEND, line[:12]) // in two parts
	if len(milestonesIn(t, w, &out)) != 0 {
		t.Fatal("half a line was enough")
	}
	write(os.O_APPEND, line[12:])
	got := milestonesIn(t, w, &out)["r"]
	if diff := max(got, now) - min(got, now); diff > uint64(50*time.Millisecond) {
		t.Errorf("at %d, it was %d", got, now)
	}
}

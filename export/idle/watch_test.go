package idle

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// watched shows a trace as it is seen while it is recorded, drained every 100 ms.
func watched(t *testing.T, name string, terminal bool, o Options) (*Watch, string) {
	t.Helper()
	src := source(t, name)
	var b bytes.Buffer
	v := NewWatch(&b, terminal, 500*time.Millisecond, o)
	v.Source().Begin(src.Header())
	w, err := tracefile.NewWriter(io.Discard, src.Header())
	if err != nil {
		t.Fatal(err)
	}
	w.Tell(v.Source())
	next := src.Header().Start
	for e, err := range src.Events() {
		if err != nil {
			t.Fatal(err)
		}
		for e.Head().Time >= next {
			if err := v.Drained(next); err != nil {
				t.Fatal(err)
			}
			next += 100e6
		}
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	return v, b.String()
}

func TestWatch(t *testing.T) {
	for name, o := range map[string]Options{
		"idle.board.interval.txt":         {Top: 3},
		"idle.board.interval.by.unit.txt": {ByUnit: true},
	} {
		printed(t, name, func(w io.Writer) error {
			_, text := watched(t, "board", false, o)
			_, err := io.WriteString(w, text)
			return err
		})
	}
}

// TestWatchOnTerminal: each table takes the place of the one before.
func TestWatchOnTerminal(t *testing.T) {
	_, lines := watched(t, "board", false, Options{Top: 3})
	_, screen := watched(t, "board", true, Options{Top: 3})
	const up = "\x1b[4A\x1b[J"
	if strings.Count(screen, up) != 2 || strings.ReplaceAll(screen, up, "") != lines {
		t.Errorf("on a terminal:\n%q\nelse:\n%q", screen, lines)
	}
}

// TestWatchAddsUp: the intervals together are what the whole recording says.
func TestWatchAddsUp(t *testing.T) {
	v, _ := watched(t, "board", false, Options{Top: 1})
	whole := read(t, "board")
	for _, task := range whole.Tasks {
		if seen := v.before[task.Thread.Index]; seen.ran > task.CPU || task.CPU-seen.ran > 10e6 || seen.wakeups > task.Wakeups {
			t.Errorf("%s: %d ns and %d wake-ups were shown, %d and %d are in the recording", task.name(), seen.ran, seen.wakeups,
				task.CPU, task.Wakeups)
		}
	}
}

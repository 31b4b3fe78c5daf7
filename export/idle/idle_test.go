package idle

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// read builds testdata/NAME.trace.
func read(t *testing.T, name string) *Idle {
	t.Helper()
	i, err := Build(source(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func source(t *testing.T, name string) *tracefile.Text {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := tracefile.ParseText(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// printed compares what write writes with a golden file.
func printed(t *testing.T, name string, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, name, b.Bytes())
	return b.Bytes()
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		trace, name string
		options     Options
	}{
		{"board", "idle.board.txt", Options{Top: DefaultTop}},
		{"board", "idle.board.by.unit.top.0.txt", Options{ByUnit: true}},
		{"bare", "idle.bare.txt", Options{Top: DefaultTop}},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := read(t, c.trace)
			text := printed(t, c.name, func(w io.Writer) error { return Text(w, i, c.options) })
			for _, line := range strings.Split(string(text), "\n") {
				if len(line) > 80 {
					t.Errorf("over 80 columns: %s", line)
				}
			}
		})
	}
}

func TestJSON(t *testing.T) {
	for _, name := range []string{"board", "bare"} {
		text := printed(t, "idle."+name+".json", func(w io.Writer) error { return JSON(w, read(t, name)) })
		if bytes.Contains(text, []byte(": null,\n")) && !json.Valid(text) {
			t.Errorf("%s: no JSON", name)
		}
		for _, list := range []string{"tasks", "units", "interrupts", "cpufreq", "sensors", "findings"} {
			if bytes.Contains(text, []byte(`"`+list+`": null`)) {
				t.Errorf("%s: %s is null, should be a list", name, list)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	governors, windows := []string{"schedutil", "performance"}, []*Idle{read(t, "board"), read(t, "bare")}
	printed(t, "idle.compare-governors.txt", func(w io.Writer) error { return CompareText(w, governors, windows) })
	printed(t, "idle.compare-governors.json", func(w io.Writer) error { return CompareJSON(w, governors, windows) })
}

// TestTotals: what is shown of the tasks, of the recorder and of its programs is what the CPUs were busy with.
func TestTotals(t *testing.T) {
	i := read(t, "board")
	var tasks, units, cpus uint64
	for _, task := range i.Tasks {
		if task.Thread.Process.Recorder {
			t.Errorf("the recorder is among the tasks: %s", task.name())
		}
		tasks += task.CPU
	}
	for _, u := range i.Units() {
		units += u.CPU
	}
	for _, c := range i.CPUs {
		cpus += c.Busy
	}
	if tasks != units || tasks+i.Recorder.CPU != cpus || i.Busy != cpus-i.Recorder.CPU-i.Programs {
		t.Errorf("tasks %d, units %d, recorder %d, programs %d, busy %d, CPUs %d", tasks, units, i.Recorder.CPU, i.Programs, i.Busy, cpus)
	}
	if i.Recorder.CPU != 1e6 || i.Recorder.Wakeups != 1 {
		t.Errorf("the recorder ran %d ns and woke %d times", i.Recorder.CPU, i.Recorder.Wakeups)
	}
}

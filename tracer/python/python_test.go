package python

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const header = `header {"start_ns":10000000000,"probes":[{"name":"sched","status":"on"},{"name":"process","status":"on"},{"name":"open","status":"on"}]}
`

func collect(t *testing.T, trace string) []*Interpreter {
	t.Helper()
	src, err := tracefile.ParseText(t.Name(), strings.NewReader(header+trace))
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector()
	if _, err := timeline.Build(src, c); err != nil {
		t.Fatal(err)
	}
	return c.Interpreters()
}

// list writes "pid module" for each import.
func list(interpreters []*Interpreter) string {
	var lines []string
	for _, in := range interpreters {
		for _, m := range in.Modules {
			lines = append(lines, fmt.Sprintf("%d %s", in.Process.PID, m.Name))
		}
	}
	return strings.Join(lines, "\n")
}

func TestInterpreters(t *testing.T) {
	for _, c := range []struct{ name, trace, want string }{
		{"other programs that open Python files", `
			10.000 [0] 100 exec old_tid=100 name="/usr/bin/grep"
			10.010 [0] 100 open result=3 name="/usr/lib/python3.11/__pycache__/os.cpython-311.pyc"
			trailer {}`, ``},
		{"a script is told by its interpreter, the first argument", `
			10.000 [0] 100 exec old_tid=100 name="/opt/tool"
			10.000 [0] 100 args argv=["/usr/bin/python3", "/opt/tool"]
			10.010 [0] 100 open result=3 name="/opt/__pycache__/tool.cpython-311.pyc"
			trailer {}`, `
			100 tool`},
		{"a program that embeds Python", `
			10.000 [0] 100 exec old_tid=100 name="/usr/bin/uwsgi"
			10.005 [0] 100 open result=3 name="/usr/lib/libpython3.11.so.1.0"
			10.010 [0] 100 open result=3 name="/srv/__pycache__/app.cpython-311.pyc"
			10.020 [0] 100 fork child_tid=200 child_pid=200
			10.030 [1] 200 open result=3 name="/srv/__pycache__/child.cpython-311.pyc"
			trailer {}`, `
			100 app
			200 child`},
		{"a forked child is Python until it execs", `
			10.001 100 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"
			10.020 [0] 100 fork child_tid=200 child_pid=200
			10.030 [1] 200 open result=3 name="/srv/__pycache__/a.cpython-311.pyc"
			10.040 [1] 200 exec old_tid=200 name="/bin/cat"
			10.050 [1] 200 open result=3 name="/srv/__pycache__/b.cpython-311.pyc"
			trailer {}`, `
			200 a`},
		{"each thread has its own last file", `
			10.001 100 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"
			10.010 [0] 100 open result=3 name="/srv/__pycache__/a.cpython-311.pyc"
			10.020 [1] 100/101 open result=3 name="/srv/__pycache__/b.cpython-311.pyc"
			10.030 [0] 100 open result=3 name="/srv/__pycache__/c.cpython-311.pyc"
			trailer {}`, `
			100 a
			100 b
			100 c`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.ReplaceAll(strings.TrimSpace(c.want), "\t", "")
			if got := list(collect(t, c.trace)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFlat(t *testing.T) {
	files := Flat(collect(t, `
		10.001 100 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"
		10.001 101 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"
		10.010 [0] 100 open result=3 name="/srv/__pycache__/a.cpython-311.pyc"
		10.020 [0] 100 open result=3 name="/srv/__pycache__/b.cpython-311.pyc"
		10.050 [0] 100 open result=3 name="/srv/__pycache__/a.cpython-311.pyc"
		10.060 [1] 101 open result=3 name="/srv/__pycache__/a.cpython-311.pyc"
		10.065 [1] 101 open result=3 name="/srv/__pycache__/a.cpython-311.pyc"
		trailer {"end_ns":10070000000}`))
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %d opens, %d processes", f.Module, f.Opens, f.Processes))
	}
	if want := "a 4 opens, 2 processes|b 1 opens, 1 processes"; strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
}

// The source is an import only after Python has looked for the bytecode; else it is a script, or a text.
func TestCache(t *testing.T) {
	const pyc, py, written = "/srv/__pycache__/a.cpython-311.pyc", "/srv/a.py", "/srv/__pycache__/a.cpython-311.pyc.1234"
	open := func(result int, flags, name string) string {
		return fmt.Sprintf("10.010 [0] 100 open result=%d flags=%s name=%q\n", result, flags, name)
	}
	hit, miss, source := open(3, "0", pyc), open(-2, "0", pyc), open(4, "0", py)
	for _, c := range []struct {
		name, trace string
		want        []Cache // one for each import
	}{
		{"a hit", hit, []Cache{{}}},
		{"missing and written", miss + source + open(3, "0x41", written), []Cache{{State: Missing, Errno: 2, Written: true}}},
		{"missing on a read-only root", miss + source + open(-30, "0x41", written), []Cache{{State: Missing, Errno: 2, WriteErrno: 30}}},
		{"missing, and not to be written", miss + source, []Cache{{State: Missing, Errno: 2}}},
		{"stale and written", hit + source + open(3, "0x41", written), []Cache{{State: Stale, Written: true}}},
		{"not readable", open(-13, "0", pyc) + source, []Cache{{State: Missing, Errno: 13}}},
		{"a script", source, nil},
		{"a text that a traceback shows", hit + open(3, "0", "/srv/b.py"), []Cache{{}}},
		{"a text, long after", hit + strings.ReplaceAll(source, "10.010", "12.5"), []Cache{{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []Cache
			for _, in := range collect(t, `10.001 100 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"`+"\n"+c.trace) {
				for _, m := range in.Modules {
					cache := m.Open.Cache
					cache.source = nil
					got = append(got, cache)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

package python

import (
	"fmt"
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

// list writes "pid module milliseconds (running, waiting)" for each open.
func list(interpreters []*Interpreter) string {
	var lines []string
	for _, in := range interpreters {
		for _, o := range in.Opens {
			until := "last"
			if o.Until != nil {
				until = fmt.Sprintf("%d (%d running, %d runnable)", o.Until.Sum()/1e6,
					o.Until[timeline.Running]/1e6, o.Until[timeline.Runnable]/1e6)
			}
			lines = append(lines, fmt.Sprintf("%d %s %s", in.Process.PID, o.Module, until))
		}
	}
	return strings.Join(lines, "\n")
}

func TestInterpreters(t *testing.T) {
	for _, c := range []struct{ name, trace, want string }{
		{"time goes to the file that was opened last", `
			10.000 [0] 0 switch next=100
			10.001 [0] 100 exec old_tid=100 name="/usr/bin/python3"
			10.010 [0] 100 open result=3 name="/usr/lib/python3.11/os.py"
			10.020 [0] 100 switch next=101 state=preempted
			10.050 [0] 101 switch next=100 state=sleeping
			10.060 [0] 100 open result=4 name="/etc/passwd"
			10.061 [0] 100 open result=-2 name="/usr/lib/python3.11/re.py"
			10.070 [0] 100 open result=4 name="/usr/lib/python3.11/io.py"`, `
			100 os 60 (30 running, 30 runnable)
			100 io last`},
		{"other programs that open Python files", `
			10.000 [0] 100 exec old_tid=100 name="/usr/bin/grep"
			10.010 [0] 100 open result=3 name="/usr/lib/python3.11/os.py"
			trailer {}`, ``},
		{"a script is told by its interpreter, the first argument", `
			10.000 [0] 100 exec old_tid=100 name="/opt/tool"
			10.000 [0] 100 args argv=["/usr/bin/python3", "/opt/tool"]
			10.010 [0] 100 open result=3 name="/opt/tool.py"
			trailer {}`, `
			100 tool last`},
		{"a program that embeds Python", `
			10.000 [0] 100 exec old_tid=100 name="/usr/bin/uwsgi"
			10.005 [0] 100 open result=3 name="/usr/lib/libpython3.11.so.1.0"
			10.010 [0] 100 open result=3 name="/srv/app.py"
			10.020 [0] 100 fork child_tid=200 child_pid=200
			10.030 [1] 200 open result=3 name="/srv/child.py"
			trailer {}`, `
			100 app last
			200 child last`},
		{"a forked child is Python until it execs", `
			10.001 100 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"
			10.020 [0] 100 fork child_tid=200 child_pid=200
			10.030 [1] 200 open result=3 name="/srv/a.py"
			10.040 [1] 200 exec old_tid=200 name="/bin/cat"
			10.050 [1] 200 open result=3 name="/srv/b.py"
			trailer {}`, `
			200 a last`},
		{"each thread has its own last file", `
			10.001 100 task state=S start=1s comm="python3" exe="/usr/bin/python3.11"
			10.010 [0] 100 open result=3 name="/srv/a.py"
			10.020 [1] 100/101 open result=3 name="/srv/b.py"
			10.030 [0] 100 open result=3 name="/srv/c.py"
			trailer {}`, `
			100 a 20 (0 running, 0 runnable)
			100 b last
			100 c last`},
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
		10.010 [0] 100 open result=3 name="/srv/a.py"
		10.020 [0] 100 open result=3 name="/srv/b.py"
		10.050 [0] 100 open result=3 name="/srv/a.py"
		10.060 [1] 101 open result=3 name="/srv/a.py"
		10.065 [1] 101 open result=3 name="/srv/a.py"
		trailer {}`))
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %d ms, %d opens, %d processes", f.Module, f.Until.Sum()/1e6, f.Opens, f.Processes))
	}
	if want := "b 30 ms, 1 opens, 1 processes|a 15 ms, 4 opens, 2 processes"; strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
}

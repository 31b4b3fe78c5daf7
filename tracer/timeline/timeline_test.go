package timeline

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// allOn is a header in which every probe is on, for a recording that begins at 10 s.
const allOn = `header {"start_ns":10000000000,"recorder_pid":900,"command_pid":100,"probes":[
{"name":"sched","status":"on","via":"tp_btf"},{"name":"process","status":"on"},{"name":"open","status":"on"},
{"name":"fault","status":"on"},{"name":"cpufreq","status":"on"},{"name":"sample","status":"on"}],
"cpufreq":[{"name":"policy0","cpus":[0,1],"governor":"schedutil","current_khz":600000}]}`

// allOnWith is that header with more in it.
func allOnWith(more string) string {
	return strings.Replace(strings.ReplaceAll(allOn, "\n", ""), "{", "{"+more, 1) + "\n"
}

// source parses a trace: a header with all probes, if it has none, and lines.
func source(t testing.TB, text string) *tracefile.Text {
	t.Helper()
	if !strings.Contains(text, "header {") {
		text = allOnWith("") + text
	}
	src, err := tracefile.ParseText(t.Name(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func build(t testing.TB, text string, sinks ...Sink) *Timeline {
	t.Helper()
	tl, err := Build(source(t, text), sinks...)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, tl)
	return tl
}

// checkSums fails unless the states of each thread, and of each CPU, add up to its time exactly.
func checkSums(t testing.TB, tl *Timeline) {
	t.Helper()
	for _, th := range tl.Threads {
		if th.Times.Sum() != th.End-th.Start || th.Start < tl.Start || th.End > tl.End || th.Process == nil {
			t.Errorf("thread %d: lives from %d to %d in %d..%d, its states sum up to %d", th.TID, th.Start, th.End,
				tl.Start, tl.End, th.Times.Sum())
		}
		if th.MaybeRan > th.Times[Unknown] {
			t.Errorf("thread %d: %d of %d unknown", th.TID, th.MaybeRan, th.Times[Unknown])
		}
	}
	for _, c := range tl.CPUs {
		if c.Busy+c.Idle+c.Unknown+c.Offline != tl.Duration() {
			t.Errorf("CPU %d: %d busy, %d idle, %d unknown, %d offline in %d",
				c.ID, c.Busy, c.Idle, c.Unknown, c.Offline, tl.Duration())
		}
	}
}

// describe writes each thread as "pid/tid comm: states in ms", by pid and time.
func describe(tl *Timeline) string {
	var lines []string
	for _, th := range tl.Threads {
		var states []string
		for s, ns := range th.Times {
			if ns > 0 {
				states = append(states, fmt.Sprintf("%s %d", State(s), ns/1e6))
			}
		}
		id := fmt.Sprintf("%d/%d", th.Process.PID, th.TID)
		if th.Process.Incarnation > 0 {
			id += fmt.Sprintf("#%d", th.Process.Incarnation)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", id, th.Comm, strings.Join(states, ", ")))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func TestStates(t *testing.T) {
	for _, c := range []struct{ name, trace, want string }{
		{"preempted", `
			10.000 [0] 0 switch next=100
			10.100 [0] 100 switch next=101 state=preempted
			10.300 [0] 101 switch next=100 state=yielded
			10.400 [0] 100 switch next=0 state=dead
			trailer {"end_ns":10500000000}`, `
			100/100 : running 200, runnable 200
			101/101 : running 200, runnable 300`},
		{"I/O wait, blocked, stopped, a kernel thread without work", `
			10.000 [0] 0 switch next=100
			10.010 [0] 100 switch next=0 state=io_wait syscall=0
			10.050 [0] 0 waking target=100
			10.060 [0] 0 switch next=100
			10.070 [0] 100 switch next=0 state=blocked
			10.090 [0] 0 waking target=100
			10.090 [0] 0 switch next=100
			10.100 [0] 100 switch next=0 state=stopped
			10.150 [0] 0 waking target=100
			10.150 [0] 0 switch next=100
			10.160 [0] 100 switch next=0 state=idle
			trailer {"end_ns":10200000000}`, `
			100/100 : running 40, runnable 10, io_wait 40, blocked 20, sleeping 40, stopped 50`},
		{"who ran, and who waited, when the recording began", `
			10.100 [0] 100 switch next=101 state=sleeping
			10.150 [0] 101 switch next=0 state=sleeping
			trailer {"end_ns":10200000000}`, `
			100/100 : running 100, sleeping 100
			101/101 : running 50, runnable 100, sleeping 50`},
		{"asleep when the recording began, in what is not known", `
			10.100 [0] 0 waking target=100
			10.110 [0] 0 switch next=100
			10.120 [0] 100 switch next=0 state=sleeping
			trailer {"end_ns":10200000000}`, `
			100/100 : unknown 100, running 10, runnable 10, sleeping 80`},
		{"states from /proc", `
			10.001 100 task state=S comm="a" start=1s
			10.001 101 task state=D comm="b" start=1s
			10.001 102 task state=T comm="c" start=1s
			10.001 103 task state=R comm="d" start=1s
			10.001 104 task state=R comm="e" start=1s
			10.001 105 task state=Z comm="f" start=1s
			10.100 [0] 104 switch next=0 state=sleeping
			10.150 [0] 0 waking target=100
			trailer {"end_ns":10200000000}`, `
			100/100 a: runnable 50, sleeping 150
			101/101 b: blocked 200
			102/102 c: stopped 200
			103/103 d: unknown 200
			104/104 e: running 100, sleeping 100
			105/105 f: `},
		{"a waking that comes before the switch which puts it to sleep", `
			10.000 [0] 0 switch next=100
			10.100 [1] 0 waking target=100
			10.101 [0] 100 switch next=0 state=sleeping
			10.151 [0] 0 switch next=100
			trailer {"end_ns":10200000000}`, `
			100/100 : running 150, runnable 50`},
		{"a waking of the running thread on its own CPU means nothing", `
			10.000 [0] 0 switch next=100
			10.100 [0] 100 waking target=100
			10.101 [0] 100 switch next=0 state=sleeping
			10.151 [0] 0 switch next=100
			trailer {"end_ns":10200000000}`, `
			100/100 : running 150, sleeping 50`},
		{"after an early waking, a second one counts", `
			10.000 [0] 0 switch next=100
			10.100 [1] 0 waking target=100
			10.110 [0] 100 switch next=0 state=sleeping
			10.150 [1] 0 waking target=100
			10.160 [0] 0 switch next=100
			trailer {"end_ns":10200000000}`, `
			100/100 : running 150, runnable 10, sleeping 40`},
		{"a new process waits for a CPU from its fork", `
			10.000 [0] 0 switch next=100
			10.050 [0] 100 fork child_tid=200 child_pid=200
			10.070 [1] 0 switch next=200
			10.090 [1] 200 exit status=256 cpu_time=0.02s flags=1
			10.095 [1] 200 switch next=0 state=dead
			trailer {"end_ns":10100000000}`, `
			100/100 : running 100
			200/200 : running 25, runnable 20`},
		{"lost switches", `
			10.000 [0] 0 switch next=100
			10.000 [1] 0 switch next=102
			10.100 [0] 0 lost probe=sched count=5
			10.150 [0] 101 switch next=100 state=sleeping
			trailer {"end_ns":10200000000}`, `
			100/100 : unknown 50, running 150
			101/101 : unknown 150, sleeping 50
			102/102 : running 200`},
		{"any event says who runs after a loss", `
			10.000 [0] 0 switch next=100
			10.100 [0] 0 lost probe=sched count=5
			10.120 [0] 100 open result=3 name="/x"
			trailer {"end_ns":10200000000}`, `
			100/100 : unknown 20, running 180`},
		{"a sleep without a waking that may have been lost", `
			10.000 [0] 0 switch next=100
			10.010 [0] 100 switch next=0 state=sleeping
			10.050 [1] 0 lost probe=sched count=5
			10.080 [0] 0 switch next=100
			trailer {"end_ns":10100000000}`, `
			100/100 : unknown 30, running 30, sleeping 40`},
		{"a recording that was cut off", `
			10.000 100 task state=S comm="a" start=1s
			10.000 101 task state=S comm="b" start=1s
			10.000 [0] 0 switch next=100
			10.000 [1] 0 switch next=101
			10.050 [0] 100 waking target=101
			10.100 [1] 101 switch next=0 state=sleeping`, `
			100/100 a: unknown 50, running 50
			101/101 b: running 100`},
		{"what comes before and after the recording is not complete", `
			9.990 [0] 0 switch next=100
			9.995 [0] 100 fork child_tid=200 child_pid=200
			9.996 [0] 200 rename target=200 comm="born before"
			10.050 [0] 200 switch next=100 state=sleeping
			10.150 [0] 0 switch next=300
			10.150 [0] 300 open result=3 name="/x"
			10.160 [0] 0 waking target=200
			trailer {"end_ns":10100000000}`, `
			100/100 : running 50, runnable 50
			200/200 born before: running 50, sleeping 50`},
		{"cut off before the fork of a thread that is seen to run", `
			10.001 100 task state=S comm="a" start=1s
			10.100 [0] 0 switch next=200
			10.150 [0] 200 switch next=0 state=sleeping`, `
			100/100 a: sleeping 150
			200/200 : running 50`},
		{"cut off, with a fork that is later than all switches", `
			10.001 100 task state=S comm="a" start=1s
			10.010 [0] 0 switch next=100
			10.020 [0] 100 switch next=0 state=sleeping
			10.050 [0] 100 fork child_tid=200 child_pid=200
			10.100 [0] 100 open result=3 name="/x"`, `
			100/100 a: unknown 80, running 10, sleeping 10
			200/200 a: unknown 50`},
		{"without the sched probe nothing is known", `
			header {"start_ns":10000000000,"probes":[{"name":"process","status":"on"}]}
			10.000 [0] 100 fork child_tid=200 child_pid=200
			10.050 [0] 200 exit flags=1
			trailer {"end_ns":10100000000}`, `
			100/100 : unknown 100
			200/200 : unknown 50`},
		{"a thread that is not the first execs", `
			10.000 [0] 0 switch next=100
			10.000 [0] 100 fork child_tid=101 child_pid=100
			10.010 [1] 0 switch next=101
			10.020 [0] 100 switch next=0 state=sleeping
			10.030 [1] 100/101 waking target=100
			10.030 [0] 0 switch next=100
			10.040 [0] 100 exit status=9 flags=1
			10.040 [0] 100 switch next=0 state=dead
			10.060 [1] 100 exec old_tid=101 name="/bin/x"
			10.080 [1] 100 exit status=512 flags=1
			10.080 [1] 100 switch next=0 state=dead
			trailer {"end_ns":10100000000}`, `
			100/100 : running 20
			100/100 : running 30, sleeping 10
			100/101 : running 50, runnable 10`},
		{"it is preempted after it got its new id, before the event", `
			10.000 [0] 0 switch next=100
			10.000 [0] 100 fork child_tid=101 child_pid=100
			10.000 [1] 0 switch next=101
			10.040 [0] 100 exit status=9 flags=1
			10.040 [0] 100 switch next=0 state=dead
			10.050 [1] 100 switch next=0 state=preempted
			10.060 [1] 0 switch next=100
			10.070 [1] 100 exec old_tid=101 name="/bin/x"
			trailer {"end_ns":10100000000}`, `
			100/100 : running 40
			100/100 : running 40, runnable 10
			100/101 : running 50`},
		{"an id is used again", `
			10.000 [0] 0 switch next=100
			10.010 [0] 100 fork child_tid=200 child_pid=200
			10.010 [1] 0 switch next=200
			10.020 [1] 200 exit flags=1
			10.020 [1] 200 switch next=0 state=dead
			10.030 [0] 100 fork child_tid=200 child_pid=200
			10.040 [1] 0 switch next=200
			trailer {"end_ns":10100000000}`, `
			100/100 : running 100
			200/200 : running 10
			200/200#1 : running 60, runnable 10`},
		{"an id is used again and the end of the first was lost", `
			10.000 [0] 0 switch next=100
			10.010 [0] 100 fork child_tid=200 child_pid=200
			10.010 [1] 0 switch next=200
			10.020 [1] 0 lost probe=process count=3
			10.030 [0] 100 fork child_tid=200 child_pid=200
			10.040 [1] 0 switch next=200
			trailer {"end_ns":10100000000}`, `
			100/100 : running 100
			200/200 : unknown 20
			200/200#1 : running 60, runnable 10`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.ReplaceAll(strings.TrimSpace(c.want), "\t", "")
			if strings.HasSuffix(c.want, ": ") {
				want += " "
			}
			if got := describe(build(t, c.trace)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestUnitOf(t *testing.T) {
	for cgroup, want := range map[string]string{
		"":                               "",
		"/":                              "",
		"/system.slice/ssh.service":      "ssh.service",
		"/system.slice":                  "system.slice",
		"/init.scope":                    "init.scope",
		"/system.slice/a\\x2db.mount":    "a\\x2db.mount",
		"/system.slice/dbus.socket":      "dbus.socket",
		"/system.slice/x.service/worker": "x.service",
		"/system.slice/system-getty.slice/getty@tty1.service":                 "getty@tty1.service",
		"/user.slice/user-1000.slice/session-2.scope":                         "session-2.scope",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/a.service":   "user@1000.service/a.service",
		"/user.slice/user-1000.slice/user@1000.service/init.scope":            "user@1000.service/init.scope",
		"/machine.slice/libpod-ab.scope/container/system.slice/nginx.service": "libpod-ab.scope/nginx.service",
		"/docker/0123": "",
		"/.service":    "",
	} {
		if got := UnitOf(cgroup); got != want {
			t.Errorf("UnitOf(%q) = %q, want %q", cgroup, got, want)
		}
	}
}

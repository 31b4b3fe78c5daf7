package findings

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// idleTrace writes a trace of an idle machine, bit by bit.
type idleTrace struct {
	lines []timedLine
}

type timedLine struct {
	at   float64
	text string
}

func (t *idleTrace) at(at float64, format string, args ...any) {
	t.lines = append(t.lines, timedLine{at, fmt.Sprintf(format, args...)})
}

// burst makes a thread run on its CPU after it was woken, and sleep in a system call.
func (t *idleTrace) burst(at float64, cpu, tid int, by string, syscall int, ran float64) {
	t.at(at-10e-6, "[%d] 0 waking target=%d %s", cpu, tid, by)
	t.at(at, "[%d] 0 switch next=%d state=preempted", cpu, tid)
	t.at(at+ran, "[%d] %d switch next=0 state=sleeping syscall=%d", cpu, tid, syscall)
}

// find builds two seconds and returns what was found, as "id pid: title", sorted.
func (t *idleTrace) find(tb testing.TB, header string) []Finding {
	tb.Helper()
	sort.SliceStable(t.lines, func(i, j int) bool { return t.lines[i].at < t.lines[j].at })
	var b strings.Builder
	b.WriteString(`header {"start_ns":10000000000,"arch":"x86_64","online":[0,1],"recorder_pid":90,"probes":[` +
		`{"name":"sched","status":"on"},{"name":"process","status":"on"},{"name":"cpufreq","status":"on"},` +
		`{"name":"irq","status":"on"}]` + header + "}\n")
	for _, l := range t.lines {
		fmt.Fprintf(&b, "%.6f %s\n", l.at, l.text)
	}
	b.WriteString(`trailer {"end_ns":12000000000}`)
	src, err := tracefile.ParseText(tb.Name(), strings.NewReader(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	wakeups, detectors := &timeline.Wakeups{}, New(src.Header().Start)
	tl, err := timeline.Build(src, append(detectors.Sinks(), wakeups)...)
	if err != nil {
		tb.Fatal(err)
	}
	return detectors.Find(&Recording{Timeline: tl, Wakeups: wakeups})
}

func TestIdleFindings(t *testing.T) {
	const timer, epoll, nanosleep, recv = "by=timer", 232, 35, 45
	every := func(t *idleTrace, n int, hz float64, do func(at float64, k int)) {
		for k := range n {
			do(10.01+float64(k)/hz, k)
		}
	}
	for _, c := range []struct {
		name   string
		make   func(*idleTrace)
		header string
		want   string
	}{
		{"nothing", func(*idleTrace) {}, "", ""},
		{"a redraw loop", func(t *idleTrace) {
			every(t, 110, 60, func(at float64, _ int) { t.burst(at, 0, 100, timer, epoll, 0.002) })
		}, "", "periodic-wakeup 100: unnamed 100 wakes at a display's rate, 60 Hz"},
		{"a polling loop", func(t *idleTrace) {
			every(t, 190, 100, func(at float64, _ int) { t.burst(at, 0, 100, timer, nanosleep, 0.0001) })
		}, "", "polling-loop 100: unnamed 100 polls 94.5 times/s"},
		{"a polling loop without a rhythm", func(t *idleTrace) {
			every(t, 190, 100, func(at float64, k int) { t.burst(at+float64(k*5%7)*0.001, 0, 100, timer, nanosleep, 0.0001) })
		}, "", "polling-loop 100: unnamed 100 polls 94.5 times/s"},
		{"a watchdog is no polling loop", func(t *idleTrace) {
			every(t, 4, 2, func(at float64, _ int) { t.burst(at, 0, 100, timer, nanosleep, 0.0001) })
		}, "", ""},
		{"the recorder's own habits are its own", func(t *idleTrace) {
			every(t, 190, 100, func(at float64, _ int) { t.burst(at, 0, 90, timer, nanosleep, 0.0001) })
		}, "", ""},
		{"an interrupt that comes regularly", func(t *idleTrace) {
			every(t, 95, 50, func(at float64, _ int) { t.burst(at, 0, 100, "by=irq number=7", epoll, 0.0001) })
		}, "", "periodic-wakeup 100: unnamed 100 wakes 47.0 times/s"},
		{"interrupts at random are work", func(t *idleTrace) {
			every(t, 95, 50, func(at float64, k int) {
				t.burst(at+float64(k*k%17)*0.001, 0, 100, "by=irq number=7", epoll, 0.0001)
			})
		}, "", ""},
		{"a chatty pair", func(t *idleTrace) {
			every(t, 90, 50, func(at float64, k int) {
				t.at(at, "[0] 0 switch next=100 state=preempted")
				t.at(at+100e-6, "[0] 100 waking target=101 by=task")
				t.at(at+110e-6, "[0] 100 switch next=101 state=sleeping syscall=%d", recv)
				t.at(at+200e-6, "[0] 101 waking target=100 by=task")
				t.at(at+210e-6, "[0] 101 switch next=0 state=sleeping syscall=%d", recv)
			})
		}, "", "chatty-pair 0: unnamed 100 and unnamed 101 wake each other 45.0 times/s"},
		{"who only wakes and is never woken in turn is no pair", func(t *idleTrace) {
			every(t, 90, 50, func(at float64, k int) {
				t.burst(at, 0, 100, "by=irq number=7", recv, 0.0003)
				t.at(at+100e-6, "[0] 100 waking target=101 by=task")
				t.at(at+110e-6, "[1] 0 switch next=101")
				t.at(at+210e-6, "[1] 101 switch next=0 state=sleeping syscall=%d", recv)
			})
		}, "", "periodic-wakeup 100: unnamed 100 wakes 44.5 times/s"},
		{"a governor that can't make up its mind", func(t *idleTrace) {
			every(t, 300, 160, func(at float64, k int) {
				t.at(at, "[0] 0 cpufreq target_cpu=0 frequency=%dkHz", 500000+k%2*500000)
			})
		}, `,"cpufreq":[{"name":"policy0","cpus":[0,1],"governor":"schedutil","current_khz":1000000}]`,
			"governor-thrash 0: the CPU frequency changes 150 times/s (policy0)"},
		{"a governor that follows a load", func(t *idleTrace) {
			every(t, 20, 20, func(at float64, k int) {
				t.at(at, "[0] 0 cpufreq target_cpu=0 frequency=%dkHz", 500000+k%2*500000)
			})
		}, `,"cpufreq":[{"name":"policy0","cpus":[0,1],"governor":"schedutil","current_khz":1000000}]`, ""},
		{"profilers that were left on, and a program that only has such an argument", func(t *idleTrace) {
			for pid, argv := range map[int]string{
				200: `exe="/usr/bin/strace" argv=["strace", "-p", "1"]`,
				201: `exe="/usr/bin/python3.11" argv=["python3", "-m", "cProfile", "app.py"]`,
				202: `exe="/usr/bin/python3.11" argv=["python3", "/usr/bin/py-spy", "record"]`,
				203: `exe="/usr/bin/python3.11" argv=["python3", "app.py", "-m", "cProfile"]`,
				204: `exe="/usr/bin/grep" argv=["grep", "perf"]`,
			} {
				t.at(10.001, `%d task state=S start=1s phase=at_start comm="c" %s`, pid, argv)
			}
		}, "", "profiler-left-on 200: strace is running; profiler-left-on 201: Python's cProfile is running; " +
			"profiler-left-on 202: py-spy is running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var trace idleTrace
			c.make(&trace)
			var got []string
			for _, f := range trace.find(t, c.header) {
				got = append(got, fmt.Sprintf("%s %d: %s", f.ID, f.PID, f.Title))
				if len(f.Evidence) == 0 || f.Remedy == "" {
					t.Errorf("%s: evidence %q, remedy %q", f.ID, f.Evidence, f.Remedy)
				}
			}
			sort.Strings(got)
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("found %q, want %q", text, c.want)
			}
		})
	}
}

package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func process(t testing.TB, tl *Timeline, pid uint32, incarnation int) *Process {
	t.Helper()
	for _, p := range tl.Processes {
		if p.PID == pid && p.Incarnation == incarnation {
			return p
		}
	}
	t.Fatalf("no process %d#%d", pid, incarnation)
	return nil
}

func TestProcess(t *testing.T) {
	tl := build(t, `
		10.000 100 cgroup cgroup=7 path="/system.slice/job.service"
		10.001 1 task state=S start=0.5s comm="init" exe="/sbin/init" argv=["/sbin/init", "splash"] cpu_time=5s minor_faults=50
		10.001 100 task state=S start=9s parent=900 comm="sh" exe="/bin/sh" argv=["sh"] cpu_time=1s minor_faults=10 major_faults=1 cgroup=7
		10.010 [0] 100 fork child_tid=200 child_pid=200 cgroup=7
		10.011 [0] 200 path file=0x5 inode=55 device=8:1 path="/usr/bin/python3.11"
		10.011 [0] 200 rename target=200 comm="python3"
		10.012 [0] 200 exec exe=0x5 old_tid=200 cgroup=7 name="python3"
		10.012 [0] 200 args total=12B argv=["python3", "x"]
		10.020 [0] 200 fork child_tid=201 child_pid=200
		10.030 [0] 200/201 exit cpu_time=0.002s minor_faults=3 major_faults=1 status=0 flags=1
		10.040 [0] 200 exit cpu_time=0.010s minor_faults=30 status=768 flags=1
		10.050 0 cgroup cgroup=7 hierarchy=4 path="/another"
		10.060 [0] 1 cgroup_attach cgroup=8 target=100 hierarchy=4
		10.090 1 task phase=at_end state=S cpu_time=5.5s minor_faults=60
		trailer {"end_ns":10100000000}`)
	p := process(t, tl, 200, 0)
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	check("ppid", p.PPID, 100)
	check("parent's comm", p.Parent.Comm(), "sh")
	check("names", p.Comms, []Named{{10010000000, "sh"}, {10011000000, "python3"}})
	check("exe", p.Exe, "/usr/bin/python3.11")
	check("argv", p.Argv, []string{"python3", "x"})
	check("unit", p.Unit.Name, "job.service")
	check("of the command", p.Command, true)
	check("existed, ended, start known", []bool{p.Existed, p.Ended, p.StartKnown}, []bool{false, true, true})
	check("status", *p.Status, 768)
	check("counters", *p.Counters, Counters{CPU: 12000000, MinorFaults: 33, MajorFaults: 1})
	check("threads", len(p.Threads), 2)
	check("execs", p.Execs[0].Name, "python3")

	init := process(t, tl, 1, 0)
	check("counters of init", *init.Counters, Counters{CPU: 500000000, MinorFaults: 10})
	check("init's start", init.Start, 500000000)
	check("init's life", []bool{init.Existed, init.Ended, init.Command}, []bool{true, false, false})
	check("init's argv", init.Argv, []string{"/sbin/init", "splash"})
	if sh := process(t, tl, 100, 0); sh.Counters != nil || sh.Status != nil || !sh.Command {
		t.Errorf("sh has counters %v, status %v, command %v: it was not seen at the end", sh.Counters, sh.Status, sh.Command)
	}
}

func TestIDsAreUsedAgain(t *testing.T) {
	tl := build(t, `
		10.000 [0] 100 fork child_tid=200 child_pid=200
		10.001 [0] 200 rename target=200 comm="first"
		10.002 [0] 200 exit status=256 flags=1
		10.010 [0] 100 fork child_tid=200 child_pid=200
		10.011 [0] 200 rename target=200 comm="second"
		10.012 [0] 200 open result=3 name="/a"
		trailer {"end_ns":10100000000}`)
	first, second := process(t, tl, 200, 0), process(t, tl, 200, 1)
	if first.Comm() != "first" || !first.Ended || first.Opens != 0 || second.Comm() != "second" || second.Ended || second.Opens != 1 {
		t.Errorf("first %+v\nsecond %+v", first, second)
	}
}

// Without BTF a fork does not tell whether it made a process or a thread.
func TestProcessIsToldLater(t *testing.T) {
	tl := build(t, `
		header {"start_ns":10000000000,"probes":[{"name":"sched","status":"lesser","via":"tracepoint"},{"name":"process","status":"lesser","via":"tracepoint"},{"name":"open","status":"lesser"}]}
		10.010 [0] 100 fork child_tid=200
		10.010 [0] 100 fork child_tid=201
		10.010 [0] 100 fork child_tid=202
		10.020 [0] 0 switch next=201
		10.030 [0] 100/201 open result=3 name="rel/./x"
		10.040 [0] 201 switch next=200 state=sleeping
		10.050 [0] 200 exit
		10.050 [0] 200 switch next=0 state=dead
		trailer {"end_ns":10100000000}`)
	parent, child := process(t, tl, 100, 0), process(t, tl, 200, 0)
	if len(parent.Threads) != 2 || parent.Opens != 1 || parent.Uncertain {
		t.Errorf("the parent has %d threads, %d opens", len(parent.Threads), parent.Opens)
	}
	if child.Parent != parent || child.Uncertain || child.Counters != nil || child.Status != nil || !child.Ended {
		t.Errorf("child %+v", child)
	}
	if p := process(t, tl, 202, 0); !p.Uncertain {
		t.Error("nothing told what 202 is, and it is shown as a process")
	}
	if tl.Can.IOWait {
		t.Error("the tracepoint can't tell I/O wait")
	}
}

type opens struct {
	Discard
	list []string
}

func (o *opens) Open(open *Open) {
	o.list = append(o.list, fmt.Sprintf("%d %s %d", open.Thread.Process.PID, open.Path, open.Result))
}

func TestOpens(t *testing.T) {
	var got opens
	tl := build(t, `
		10.000 [0] 100 path file=1 inode=2 device=8:1 path="/home/a"
		10.001 [0] 100 path file=2 inode=3 device=8:1 path="/etc/passwd"
		10.002 [0] 100 open file=2 result=3
		10.003 [0] 100 path file=9 inode=3 device=8:1 path="/etc/passwd"
		10.004 [0] 100 open file=9 result=4
		10.005 [0] 100 open base=1 result=-2 name="../b/./c"
		10.006 [0] 100 open result=-2 name="/x//y/../z"
		10.007 [0] 100 open result=-2 name="q/../r"
		10.008 [0] 100 open result=-2 name=""
		10.009 [0] 100 open result=5 name="/dev/null"
		10.010 [0] 100 open file=77 result=6
		10.011 [0] 101 open result=-14 how=4
		10.012 [0] 100 path file=5 inode=4 device=8:1 path="/srv/jail"
		10.013 [0] 100 open base=5 result=-2 name="/etc/shadow"
		trailer {}`, &got)
	want := []string{
		"100 /etc/passwd 3", "100 /etc/passwd 4", "100 /home/b/c -2", "100 /x/z -2", "100 q/../r -2", "100  -2",
		"100 /dev/null 5", "100  6", "101  -14", "100 /srv/jail/etc/shadow -2",
	}
	if !slices.Equal(got.list, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got.list, "\n"), strings.Join(want, "\n"))
	}
	if p := process(t, tl, 100, 0); p.Opens != 4 || p.FailedOpens != 5 {
		t.Errorf("%d opens, %d failed", p.Opens, p.FailedOpens)
	}
	for _, f := range tl.Files {
		if f.Path == "/etc/passwd" && (f.Opens != 2 || f.Inode != 3 || f.Device != 8<<20|1) {
			t.Errorf("%+v", f)
		}
	}
	if len(tl.Files) != 4 {
		t.Errorf("%d files, want 4: two ids of one file are one", len(tl.Files))
	}
}

func TestFrequencies(t *testing.T) {
	tl := build(t, allOnWith(`"cpus":3,`)+`
		10.100 [0] 0 cpufreq frequency=1800000kHz target_cpu=0
		10.100 [0] 0 cpufreq frequency=1800000kHz target_cpu=1
		10.150 [0] 0 cpufreq frequency=1800000kHz target_cpu=0
		10.300 [1] 0 cpufreq frequency=600000kHz target_cpu=0
		10.500 [1] 0 cpufreq frequency=900000kHz target_cpu=2
		trailer {"end_ns":11000000000}`)
	p := tl.Policies[0]
	if want := []FreqTime{{600000, 800e6}, {1800000, 200e6}}; !slices.Equal(p.Times, want) || p.Transitions != 2 {
		t.Errorf("policy0: %v, %d transitions", p.Times, p.Transitions)
	}
	if p := tl.Policies[1]; p.Name != "cpu2" || !slices.Equal(p.Times, []FreqTime{{900000, 500e6}}) {
		t.Errorf("a CPU without a policy: %+v", p)
	}
}

func TestLosses(t *testing.T) {
	tl := build(t, `
		10.100 [0] 0 lost probe=sched count=5 reason=full
		10.200 [0] 0 lost probe=sched count=2 reason=full
		10.300 [0] 0 lost probe=open count=1 reason=full
		trailer {"lost":[{"probe":"sched","reason":"full","count":9},{"probe":"sched","reason":"skipped","count":4}]}`)
	want := []Loss{{"open", "full", 1}, {"sched", "full", 9}, {"sched", "skipped", 4}}
	if !slices.Equal(tl.Losses, want) || tl.Lost() != 14 {
		t.Errorf("got %v", tl.Losses)
	}
}

func TestSleeps(t *testing.T) {
	tl := build(t, `
		10.000 [0] 0 switch next=100
		10.010 [0] 100 switch next=0 state=sleeping syscall=232
		10.020 [0] 0 waking target=100
		10.020 [0] 0 switch next=100
		10.030 [0] 100 switch next=0 state=sleeping syscall=232
		10.070 [0] 0 waking target=100
		10.070 [0] 0 switch next=100
		10.080 [0] 100 switch next=0 state=io_wait syscall=0
		trailer {"end_ns":10100000000}`)
	want := []Sleep{{Syscall: 232, State: Sleeping, Time: 50e6, Count: 2}, {State: IOWait, Time: 20e6, Count: 1}}
	if got := tl.Threads[0].Sleeps; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestIntervalsSayWhy(t *testing.T) {
	var got intervals
	build(t, `
		10.000 [0] 0 switch next=100
		10.010 [0] 100 switch next=101 state=sleeping syscall=7
		10.030 [0] 101 waking target=100
		10.040 [0] 101 switch next=100 state=preempted
		10.050 [0] 100 switch next=101 state=sleeping
		trailer {"end_ns":10050000000}`, &got)
	want := `
		100 running 10 cpu 0 syscall 65535 cause 0 waker 0
		101 runnable 10 cpu -1 syscall 65535 cause 0 waker 0
		100 sleeping 20 cpu 0 syscall 7 cause 0 waker 101
		101 running 30 cpu 0 syscall 65535 cause 0 waker 0
		100 runnable 10 cpu 0 syscall 65535 cause 1 waker 101
		100 running 10 cpu 0 syscall 65535 cause 0 waker 0
		101 runnable 10 cpu 0 syscall 65535 cause 2 waker 0`
	// The first is cut off at the start of the recording, where it has no length.
	if strings.Join(got.list, "\n") != strings.ReplaceAll(want[1:], "\t", "") {
		t.Errorf("got\n%s", strings.Join(got.list, "\n"))
	}
}

type intervals struct {
	Discard
	list []string
	sum  map[*Thread]Times
}

func (s *intervals) Interval(iv *Interval) {
	if s.sum == nil {
		s.sum = map[*Thread]Times{}
	}
	times := s.sum[iv.Thread]
	times[iv.State] += iv.End - iv.Start
	s.sum[iv.Thread] = times
	if len(s.list) < 100 {
		s.list = append(s.list, fmt.Sprintf("%d %s %d cpu %d syscall %d cause %d waker %d", iv.Thread.TID, iv.State,
			(iv.End-iv.Start)/1e6, iv.CPU, iv.Syscall, iv.Cause, iv.Waker))
	}
}

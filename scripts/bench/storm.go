//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// What the programs of the storm import: packages that services really use, and what every machine has.
var packages = []string{"pydantic", "fastapi", "sqlalchemy.orm", "numpy", "twisted.internet.reactor", "aiohttp", "requests", "jinja2"}

const (
	python          = "/usr/bin/python3"
	standardImports = "asyncio, http.server, email.message, xml.dom.minidom, unittest, sqlite3, ssl, decimal"
)

// stormScript starts eight Python programs at once, each with another package. It also returns a
// description.
func (s *setup) stormScript() (script, what string) {
	var there []string
	for _, name := range packages {
		if exec.Command(python, "-c", "import "+name).Run() == nil {
			there = append(there, name)
		}
	}
	what = strings.Join(there, ", ")
	if len(there) == 0 {
		there, what = []string{standardImports}, "modules of the standard library"
	}
	n := s.scaled(8, 2)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s -c 'import %s' & ", python, there[i%len(there)])
	}
	return b.String() + "wait", fmt.Sprintf("%d Python programs that import %s", n, what)
}

// What bpftrace's execsnoop.bt and opensnoop.bt do, in one program.
const execAndOpenSnoop = `tracepoint:syscalls:sys_enter_exec* { printf("%-10u %-5d ", elapsed / 1e6, pid); join(args->argv); }
tracepoint:syscalls:sys_enter_open, tracepoint:syscalls:sys_enter_openat { @filename[tid] = args->filename; }
tracepoint:syscalls:sys_exit_open, tracepoint:syscalls:sys_exit_openat /@filename[tid]/ {
  printf("%-6d %-16s %4d %s\n", pid, comm, args->ret, str(@filename[tid])); delete(@filename[tid]); }`

// bootscopesEvents are perf's names for what bootscope records.
const bootscopesEvents = "cpu-clock,major-faults,sched:sched_switch,sched:sched_waking,sched:sched_process_fork,sched:sched_process_exec," +
	"sched:sched_process_exit,syscalls:sys_exit_openat,syscalls:sys_exit_connect,syscalls:sys_exit_fsync," +
	"filemap:mm_filemap_add_to_page_cache,filemap:mm_filemap_delete_from_page_cache"

// stormTracers are what one would use to see the same: who ran, what it opened.
func (s *setup) stormTracers() []*tracer {
	return []*tracer{
		{name: "nothing"},
		{name: "bootscope, all probes", output: s.file("storm.bst"), command: s.recordArgs(s.file("storm.bst"))},
		{name: "perf record, the same events", output: s.file("storm.data"),
			command: []string{"perf", "record", "-q", "-B", "-a", "-F", "199", "-e", bootscopesEvents, "-o", s.file("storm.data")}},
		{name: "bpftrace, execsnoop and opensnoop", output: s.file("storm.txt"),
			command: []string{"bpftrace", "-o", s.file("storm.txt"), "-e", execAndOpenSnoop}},
		{name: "systemd-bootchart", end: syscall.SIGHUP,
			command: []string{"/lib/systemd/systemd-bootchart", "--rel", "--samples=100000", "--output=" + s.dir}},
	}
}

// benchStorm starts Python programs at once, with the files they import in the page cache or not.
func benchStorm(s *setup) error {
	script, what := s.stormScript()
	fmt.Fprintf(output, "\n%s.\n", what)
	warm := append(s.stormTracers(), &tracer{name: "strace -f -e trace=openat", output: s.file("strace.txt"),
		prefix: []string{"strace", "-f", "-e", "trace=openat", "-o", s.file("strace.txt")}})
	if err := s.compare("Start-up storm, warm", s.atMost(5), warm, nil, script); err != nil {
		return err
	}
	if err := s.compare("Start-up storm, cold", s.atMost(3), s.stormTracers(), dropCaches, script); err != nil {
		return err
	}
	if err := s.direct("Start-up storm, warm", "less than 1 %; 2 % where opens need the system-call way", s.atMost(5), nil, script); err != nil {
		return err
	}
	return s.direct("Start-up storm, cold", "", s.atMost(3), dropCaches, script)
}

func dropCaches() error { return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0) }

// benchForks runs a shell script of many short commands.
func benchForks(s *setup) error {
	commands := s.scaled(5000, 100)
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", commands)
	title := fmt.Sprintf("A shell that runs %d commands", commands)
	if err := s.compare(title, s.atMost(5), s.stormTracers(), nil, script); err != nil {
		return err
	}
	return s.direct(title, "less than 3 %", s.atMost(5), nil, script)
}

// compare runs a script beside each tracer in turn.
func (s *setup) compare(title string, rounds int, tracers []*tracer, prepare func() error, script string) error {
	if err := turns(rounds, tracers, prepare, "sh", "-c", script); err != nil {
		return err
	}
	result := table{title: fmt.Sprintf("%s, %d rounds", title, rounds),
		columns: []string{"tracer", "wall, s", "wall to nothing's", "CPU of load and tracer, s", "CPU to nothing's", "tracer's own CPU, s", "written, MB"}}
	nothing := tracers[0]
	for _, t := range tracers {
		if t.missing != "" {
			result.addMissing(t.name, t.missing)
			continue
		}
		both := t.cpu.plus(t.own)
		own, size := "-", "-"
		if t.command != nil {
			own = fmt.Sprintf("%.3f", t.own.median())
		}
		if t.output != "" {
			size = fmt.Sprintf("%.2f", t.size.median()/1e6)
		}
		result.add(t.name, t.wall.text("%.2f"), t.wall.over(nothing.wall).text("%.3f"),
			both.text("%.2f"), both.over(nothing.cpu).text("%.3f"), own, size)
	}
	result.print()
	s.aimBelowPerf(title, nothing, tracers[1], tracers[2])
	return nil
}

// aimBelowPerf notes what bootscope adds to the CPU time, and perf.
func (s *setup) aimBelowPerf(title string, nothing, bootscope, perf *tracer) {
	if bootscope.missing != "" || perf.missing != "" {
		return
	}
	adds := func(t *tracer) float64 { return t.cpu.plus(t.own).minus(nothing.cpu).median() }
	measured := fmt.Sprintf("%.3f s to %.3f s", adds(bootscope), adds(perf))
	if adds(perf) > 0 {
		measured = fmt.Sprintf("%.2f (%s)", adds(bootscope)/adds(perf), measured)
	}
	s.aim(title+": added CPU time, to what perf record of the same events adds", "less than 0.33", measured)
}

//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// Real imports, all from the standard library, so that every machine has them.
const imports = "import asyncio, http.server, email.message, xml.dom.minidom, unittest, sqlite3, ssl, concurrent.futures, multiprocessing.pool, decimal"

// stormTracers are what one would use to see the same: who ran, what it opened.
func (s *setup) stormTracers() []*tracer {
	out := s.file
	return []*tracer{
		{name: "nothing"},
		{name: "bootscope, all probes", output: out("storm.bst"),
			command: []string{s.bootscope, "record", "--force", "-o", out("storm.bst")}},
		{name: "perf record, the same events", output: out("storm.data"),
			command: []string{"perf", "record", "-q", "-a", "-F", "199", "-e", "cpu-clock,sched:sched_switch,sched:sched_waking,sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,syscalls:sys_exit_openat,filemap:mm_filemap_add_to_page_cache",
				"-o", out("storm.data")}},
		{name: "bpftrace, execs and opens printed", output: out("storm.txt"),
			command: []string{"bpftrace", "-o", out("storm.txt"), "-e",
				`tracepoint:sched:sched_process_exec { printf("%llu exec %d %s\n", nsecs, pid, str(args->filename)); } tracepoint:syscalls:sys_enter_openat { printf("%llu open %d %s\n", nsecs, pid, str(args->filename)); }`}},
	}
}

// benchStorm starts eight Python programs at once, with the files they import in the page cache or not.
func benchStorm(s *setup) error {
	programs := s.scaled(8, 2)
	script := strings.Repeat("/usr/bin/python3 -c '"+imports+"' & ", programs) + "wait"
	for _, cold := range []bool{false, true} {
		title := fmt.Sprintf("Start-up storm: %d Python programs at once, page cache %s", programs, map[bool]string{false: "warm", true: "cold"}[cold])
		prepare := func() error { return nil }
		if cold {
			prepare = func() error { return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0) }
		}
		tracers := s.stormTracers()
		if !cold {
			tracers = append(tracers, &tracer{name: "strace -f -e trace=openat"})
		}
		if err := s.compare(title, tracers, script, prepare); err != nil {
			return err
		}
	}
	return s.direct("Start-up storm, warm", script)
}

// benchForks runs a shell script of many short commands.
func benchForks(s *setup) error {
	commands := s.scaled(5000, 100)
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", commands)
	title := fmt.Sprintf("Forks: a shell that runs %d commands", commands)
	if err := s.compare(title, s.stormTracers(), script, func() error { return nil }); err != nil {
		return err
	}
	return s.direct(title, script)
}

// compare runs a script beside each tracer in turn.
func (s *setup) compare(title string, tracers []*tracer, script string, prepare func() error) error {
	walls, cpus := make([]sample, len(tracers)), make([]sample, len(tracers))
	for range s.rounds {
		for i, t := range tracers {
			argv := []string{"sh", "-c", script}
			if strings.HasPrefix(t.name, "strace") {
				argv = append([]string{"strace", "-f", "-e", "trace=openat", "-o", s.file("strace.txt")}, argv...)
			}
			r, err := t.start()
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			if err := prepare(); err != nil {
				return err
			}
			wall, cpu, _, err := load(argv...)
			if err != nil {
				return err
			}
			own, err := r.stop()
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			walls[i] = append(walls[i], wall.Seconds())
			cpus[i] = append(cpus[i], (cpu + own).Seconds())
		}
	}
	result := table{title: fmt.Sprintf("%s, %d rounds", title, s.rounds),
		columns: []string{"tracer", "wall, s", "least–most", "wall to nothing's", "CPU of the load and the tracer, s", "CPU to nothing's"}}
	for i, t := range tracers {
		if len(walls[i]) == 0 {
			result.add(t.name, "not installed", "", "", "", "")
			continue
		}
		result.add(t.name, fmt.Sprintf("%.3f", walls[i].median()), walls[i].spread("%.3f"),
			fmt.Sprintf("%.3f", walls[i].median()/walls[0].median()),
			fmt.Sprintf("%.3f", cpus[i].median()), fmt.Sprintf("%.3f", cpus[i].median()/cpus[0].median()))
	}
	result.print()
	return nil
}

// direct accounts for what bootscope takes, where differences of wall time drown in noise: run time of
// its programs by the kernel's statistics (a run of its own: they cost, too) and the recorder's CPU time
// while it records, over the CPU time that the load took.
func (s *setup) direct(title, script string) error {
	setStats, restore, err := switchStats()
	if err != nil {
		return err
	}
	defer restore()
	var programs, recorder, startup sample
	for range s.rounds {
		file := s.file("direct.bst")
		for _, stats := range []bool{true, false} {
			if err := setStats(stats); err != nil {
				return err
			}
			_, cpu, _, err := load(s.bootscope, "record", "--force", "-o", file, "--", "sh", "-c", script)
			if err != nil {
				return err
			}
			self, err := readSelf(file)
			if err != nil {
				return err
			}
			busy := cpu.Seconds() - self.cpu
			if stats {
				programs = append(programs, 100*self.programs/busy)
			} else {
				recorder = append(recorder, 100*(self.cpu-self.start)/busy)
				startup = append(startup, self.start)
			}
		}
	}
	result := table{title: title + ": direct accounting, in per cent of the load's CPU time",
		columns: []string{"BPF programs", "least–most", "recorder", "least–most", "together", "and once, to start"}}
	result.add(fmt.Sprintf("%.2f %%", programs.median()), programs.spread("%.2f"),
		fmt.Sprintf("%.2f %%", recorder.median()), recorder.spread("%.2f"),
		fmt.Sprintf("%.2f %%", programs.median()+recorder.median()), fmt.Sprintf("%.3f s CPU", startup.median()))
	result.print()
	return nil
}

type selfCosts struct{ cpu, start, programs float64 } // seconds

func readSelf(path string) (selfCosts, error) {
	trailer, err := readTrailer(path)
	if err != nil {
		return selfCosts{}, err
	}
	self := trailer.Self
	return selfCosts{float64(self.CPU) / 1e9, float64(self.StartCPU) / 1e9, float64(self.BPF) / 1e9}, nil
}

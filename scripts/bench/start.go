//go:build linux

package main

import (
	"fmt"
)

// benchStart measures the time until a tracer has begun: with a command that does nothing.
func benchStart(s *setup) error {
	contestants := []struct {
		name string
		argv []string
	}{
		{"bootscope, all probes", []string{s.bootscope, "record", "--force", "-o", s.file("start.bst"), "--", "/bin/true"}},
		{"bootscope, sched, process, open", []string{s.bootscope, "record", "--force", "-o", s.file("start.bst"), "--without", without("sched", "process", "open"), "--", "/bin/true"}},
		{"perf record -a", []string{"perf", "record", "-q", "-a", "-e", "sched:sched_switch,sched:sched_process_exec", "-o", s.file("start.data"), "--", "/bin/true"}},
		{"bpftrace", []string{"bpftrace", "-c", "/bin/true", "-e", "tracepoint:sched:sched_switch { @[args->next_pid] = count(); }"}},
	}
	walls, cpus := make([]sample, len(contestants)), make([]sample, len(contestants))
	for range s.rounds {
		for i, c := range contestants {
			wall, cpu, _, err := load(c.argv...)
			if err != nil {
				continue // not installed, or it can't here
			}
			walls[i], cpus[i] = append(walls[i], wall.Seconds()), append(cpus[i], cpu.Seconds())
		}
	}
	result := table{title: fmt.Sprintf("Start: recording /bin/true, from exec to exit, %d rounds", s.rounds),
		columns: []string{"tracer", "wall, s", "least–most", "CPU, s"}}
	for i, c := range contestants {
		if len(walls[i]) == 0 {
			result.add(c.name, "not installed", "", "")
			continue
		}
		result.add(c.name, fmt.Sprintf("%.3f", walls[i].median()), walls[i].spread("%.3f"), fmt.Sprintf("%.3f", cpus[i].median()))
	}
	result.print()
	return nil
}

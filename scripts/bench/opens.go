//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const sysExitHook = "tp_btf/sys_exit"

// An openLoad is a tight loop of opens.
type openLoad struct {
	callLoad
	empty sample // BPF time of an empty program for each run, ns
	own   sample // of bootscope's for each call
}

func (s *setup) openLoads() ([]*openLoad, error) {
	seen, each := s.scaled(400_000, 4000), s.scaled(20_000, 500) // fewer than the kernel side remembers
	dir := s.file("lib/python3/dist-packages/package/__pycache__")
	if err := makeFiles(dir, each); err != nil {
		return nil, err
	}
	return []*openLoad{
		{callLoad: callLoad{"a call that nobody records (getppid)", seen, loadArgs("calls", strconv.Itoa(seen))}},
		{callLoad: callLoad{"open of a file seen before", seen, loadArgs("open", strconv.Itoa(seen), eachName(dir, 0))}},
		{callLoad: callLoad{"open of a new file", each, loadArgs("open-each", strconv.Itoa(each), dir)}},
		{callLoad: callLoad{"open that fails", seen, loadArgs("open", strconv.Itoa(seen), "/no/such/file")}},
	}, nil
}

// benchOpens measures what recording an open takes, against an empty program on the same hook.
func benchOpens(s *setup) error {
	loads, err := s.openLoads()
	if err != nil {
		return err
	}
	setStats, restore, err := switchStats()
	if err != nil {
		return err
	}
	defer restore()
	if err := setStats(true); err != nil {
		return err
	}
	hook := ""
	for range s.rounds {
		unwanted := 0.0 // BPF time of a run that leads to nothing
		for i, l := range loads {
			var runs programCost
			if hook, runs, err = s.openPrograms(l); err != nil {
				fmt.Fprintf(output, "\nBPF time can't be measured here: %v\n", err)
				return nil
			}
			if i == 0 {
				unwanted = runs.ns / runs.runs
			}
			// The rest of the machine makes calls as well.
			l.own = append(l.own, (runs.ns-unwanted*(runs.runs-float64(l.calls)))/float64(l.calls))
		}
	}
	s.printOpenPrograms(hook, loads)
	if err := setStats(false); err != nil {
		return err
	}
	for _, l := range loads {
		if err := s.openWalls(l, hook); err != nil {
			return err
		}
	}
	return nil
}

// openPrograms measures BPF time during a load, and returns the hook that bootscope used.
func (s *setup) openPrograms(l *openLoad) (hook string, runs programCost, err error) {
	file := s.file("opens.bst")
	trailer, err := s.record(file, []string{"open"}, l.argv...)
	if err != nil {
		return "", runs, err
	}
	if hook, err = viaOf(file, event.ProbeOpen); err != nil {
		return "", runs, err
	}
	costs, err := measureBaseline(emptyProgram, []string{hook}, l.argv...)
	if err != nil {
		return "", runs, err
	}
	l.empty = append(l.empty, costs[0].ns/costs[0].runs)
	return hook, costOf(trailer, ""), nil
}

// viaOf is how a probe was attached.
func viaOf(path string, probe event.Probe) (string, error) {
	f, err := tracefile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	probes := f.Header().Probes
	i := slices.IndexFunc(probes, func(p tracefile.ProbeStatus) bool { return p.Name == probe.String() })
	if i < 0 || probes[i].Status == tracefile.StatusOff {
		return "", fmt.Errorf("%s: %v was not recorded", path, probe)
	}
	return probes[i].Via, nil
}

func (s *setup) printOpenPrograms(hook string, loads []*openLoad) {
	result := table{title: fmt.Sprintf("BPF time for each open on %s, by the kernel's statistics, %d rounds", hook, s.rounds),
		columns: []string{"call", "empty, ns", "bootscope, ns", "bootscope to empty"}}
	for _, l := range loads {
		result.add(l.name, l.empty.text("%.0f"), l.own.text("%.0f"), l.own.over(l.empty).text("%.2f"))
	}
	result.print()
	seen := loads[1]
	s.aim("BPF time for an "+seen.name+", to an empty program on the same hook", "at most 2", seen.own.over(seen.empty).text("%.2f"))
}

// openWalls compares tracers of opens.
func (s *setup) openWalls(l *openLoad, hook string) error {
	return s.benchCall(l.callLoad, "an empty BPF program", []*tracer{
		{name: "nothing"},
		baselineTracer("an empty BPF program", emptyProgram, hook),
		{name: "bootscope, opens", output: s.file("opens.bst"), command: s.recordArgs(s.file("opens.bst"), "open")},
		{name: "perf record -a -e syscalls:sys_exit_openat", output: s.file("opens.data"),
			command: []string{"perf", "record", "-q", "-B", "-a", "-e", "syscalls:sys_exit_openat", "-o", s.file("opens.data")}},
		{name: "bpftrace, opensnoop", output: s.file("opens.txt"),
			command: []string{"bpftrace", "-o", s.file("opens.txt"), "-e", execAndOpenSnoop}},
	})
}

//go:build linux

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

var allProbes = record.ProbeNames()

// benchSwitches measures a ping-pong of two processes over pipes: each turn is two switches and two
// wake-ups, and almost nothing else.
func benchSwitches(s *setup) error {
	loops := s.scaled(200_000, 2_000)
	out := func(name string) string { return s.file(name) }
	tracers := []*tracer{
		{name: "nothing"},
		{name: "bootscope, all probes", output: out("all.bst"),
			command: []string{s.bootscope, "record", "--force", "-o", out("all.bst")}},
		{name: "bootscope, sched only", output: out("sched.bst"),
			command: []string{s.bootscope, "record", "--force", "-o", out("sched.bst"), "--without", without("sched")}},
		{name: "perf record -e sched:sched_switch", output: out("perf.data"),
			command: []string{"perf", "record", "-q", "-a", "-e", "sched:sched_switch", "-o", out("perf.data")}},
		{name: "perf record -e sched:sched_switch,sched:sched_waking", output: out("perf2.data"),
			command: []string{"perf", "record", "-q", "-a", "-e", "sched:sched_switch,sched:sched_waking", "-o", out("perf2.data")}},
		{name: "trace-cmd record -e sched_switch", output: out("trace.dat"),
			command: []string{"trace-cmd", "record", "-q", "-e", "sched_switch", "-o", out("trace.dat")}},
		{name: "bpftrace printing each switch", output: out("bpftrace.txt"),
			command: []string{"bpftrace", "-o", out("bpftrace.txt"), "-e", `tracepoint:sched:sched_switch { printf("%llu %d %d\n", nsecs, args->prev_pid, args->next_pid); }`}},
	}
	walls := make([]sample, len(tracers))
	sizes := make([]sample, len(tracers))
	for range s.rounds {
		for i, t := range tracers {
			r, err := t.start()
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			wall, _, _, err := load("perf", "bench", "sched", "pipe", "-l", strconv.Itoa(loops))
			if err != nil {
				return err
			}
			if _, err := r.stop(); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			walls[i] = append(walls[i], float64(wall.Nanoseconds())/float64(2*loops))
			sizes[i] = append(sizes[i], float64(t.size())/float64(2*loops))
		}
	}
	result := table{title: fmt.Sprintf("Switches: perf bench sched pipe -l %d, %d rounds", loops, s.rounds),
		columns: []string{"tracer", "wall per switch, ns", "least–most", "added, ns", "file, bytes per switch of the load"}}
	for i, t := range tracers {
		if len(walls[i]) == 0 {
			result.add(t.name, "not installed", "", "", "")
			continue
		}
		added := walls[i].minus(walls[0])
		result.add(t.name, fmt.Sprintf("%.0f", walls[i].median()), walls[i].spread("%.0f"),
			fmt.Sprintf("%.0f (%s)", added.median(), added.spread("%.0f")), fmt.Sprintf("%.1f", sizes[i].median()))
	}
	result.print()
	return s.programTimes(loops)
}

// programTimes asks the kernel's BPF statistics what the programs take for each switch.
func (s *setup) programTimes(loops int) error {
	setStats, restore, err := switchStats()
	if err != nil {
		return err
	}
	defer restore()
	if err := setStats(true); err != nil {
		return err
	}
	times := map[string]sample{}
	var perRecord, perSwitch sample
	for range s.rounds {
		if hasBTF() {
			clock, err := attachClock()
			if err != nil {
				return err
			}
			if _, _, _, err := load("perf", "bench", "sched", "pipe", "-l", strconv.Itoa(loops)); err != nil {
				return err
			}
			each, err := perRun(clock.program)
			clock.close()
			if err != nil {
				return err
			}
			times["clock only"] = append(times["clock only"], float64(each))
		}
		for _, probes := range []string{"sched", "all"} {
			file := s.file(probes + ".bst")
			args := []string{"record", "--force", "-o", file, "--", "perf", "bench", "sched", "pipe", "-l", strconv.Itoa(loops)}
			if probes == "sched" {
				args = append([]string{"record", "--without", without("sched")}, args[1:]...)
			}
			if _, _, _, err := load(append([]string{s.bootscope}, args...)...); err != nil {
				return err
			}
			programs, records, switches, size, err := readCosts(file)
			if err != nil {
				return err
			}
			for _, p := range programs {
				if p.Runs > uint64(loops)/2 {
					name := "bootscope (" + probes + "): " + p.Name
					times[name] = append(times[name], float64(p.RunTime)/float64(p.Runs))
				}
			}
			if probes == "sched" {
				perRecord = append(perRecord, float64(size)/float64(records))
				perSwitch = append(perSwitch, float64(size)/float64(switches))
			}
		}
	}
	result := table{title: "Time of the programs, from the kernel's BPF statistics (of which 42 to 48 ns are the statistics' own)",
		columns: []string{"program", "ns per run", "least–most", "ratio to clock only"}}
	base := times["clock only"].median()
	for _, name := range sortedKeys(times) {
		ratio := "-"
		if base > 0 {
			ratio = fmt.Sprintf("%.2f", times[name].median()/base)
		}
		result.add(name, fmt.Sprintf("%.0f", times[name].median()), times[name].spread("%.0f"), ratio)
	}
	result.print()
	fmt.Printf("\nFile with sched only: %.2f bytes per record, %.2f bytes per switch with its wake-ups (everything in the file counted).\n",
		perRecord.median(), perSwitch.median())
	return nil
}

// readCosts returns a trace's program costs, the number of its sched records and switches, and its size.
func readCosts(path string) (programs []tracefile.Program, records, switches uint64, size int64, err error) {
	trailer, err := readTrailer(path)
	if err != nil {
		return nil, 0, 0, 0, err
	}
	f, err := tracefile.Open(path)
	if err != nil {
		return nil, 0, 0, 0, err
	}
	defer f.Close()
	for e, err := range f.Events() {
		if err != nil {
			return nil, 0, 0, 0, err
		}
		switch e.(type) {
		case *event.Switch:
			switches++
			records++
		case *event.Waking:
			records++
		}
	}
	var lost []string
	for _, l := range trailer.Lost {
		lost = append(lost, fmt.Sprintf("%d %s (%s)", l.Count, l.Probe, l.Reason))
	}
	if len(lost) > 0 {
		fmt.Printf("LOST in %s: %s\n", path, strings.Join(lost, ", "))
	}
	return trailer.Programs, records, switches, f.Size(), nil
}

func readTrailer(path string) (*tracefile.Trailer, error) {
	f, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Trailer() == nil {
		return nil, fmt.Errorf("%s has no end", path)
	}
	return f.Trailer(), nil
}

// sortedKeys lists the names by their medians.
func sortedKeys(m map[string]sample) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Compare(m[a].median(), m[b].median()) })
}

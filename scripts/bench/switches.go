//go:build linux

package main

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/cilium/ebpf/asm"
)

// pingPong passes a byte to and fro between two processes on one CPU: each turn is two switches and two
// wake-ups, and almost nothing else. The recorder has the other CPUs.
func pingPong(turns int) []string {
	return []string{"taskset", "-c", strconv.Itoa(runtime.NumCPU() - 1), "perf", "bench", "sched", "pipe", "-l", strconv.Itoa(turns)}
}

const switchHook, wakingHook = "tp_btf/sched_switch", "tp_btf/sched_waking"

func (s *setup) switchTracers() []*tracer {
	perf := func(name, events string) *tracer {
		return &tracer{name: "perf record -a -e " + events, output: s.file(name),
			command: []string{"perf", "record", "-q", "-B", "-a", "-e", events, "-o", s.file(name)}}
	}
	return []*tracer{
		{name: "nothing"},
		baselineTracer("a BPF program that reads the clock", clockProgram, switchHook),
		{name: "bootscope, switches and wake-ups", output: s.file("sched.bst"), command: s.recordArgs(s.file("sched.bst"), "sched")},
		{name: "bootscope, all probes", output: s.file("all.bst"), command: s.recordArgs(s.file("all.bst"))},
		perf("perf.data", "sched:sched_switch"),
		perf("perf2.data", "sched:sched_switch,sched:sched_waking"),
		{name: "trace-cmd record -e sched_switch", output: s.file("trace.dat"),
			command: []string{"trace-cmd", "record", "-q", "-e", "sched_switch", "-o", s.file("trace.dat")}},
		{name: "bpftrace printing each switch", output: s.file("bpftrace.txt"),
			command: []string{"bpftrace", "-o", s.file("bpftrace.txt"), "-e", `tracepoint:sched:sched_switch { printf("%llu %d %d\n", nsecs, args->prev_pid, args->next_pid); }`}},
	}
}

// benchSwitches measures what recording a context switch takes.
func benchSwitches(s *setup) error {
	n := s.scaled(200_000, 2_000)
	tracers := s.switchTracers()
	if err := turns(s.rounds, tracers, nil, pingPong(n)...); err != nil {
		return err
	}
	perSwitch := 1 / float64(2*n)
	nothing, perf := tracers[0], tracers[4]
	perfAdds := perf.wall.minus(nothing.wall).median()
	result := table{title: fmt.Sprintf("Added to each of %d switches, %d rounds", 2*n, s.rounds),
		columns: []string{"tracer", "wall per switch, ns", "added, ns", "added, to what perf record adds", "tracer's own CPU per switch, ns", "written per switch, bytes"}}
	for _, t := range tracers {
		if t.missing != "" {
			result.addMissing(t.name, t.missing)
			continue
		}
		added := t.wall.minus(nothing.wall)
		ratio, own, size := "-", "-", "-"
		if perfAdds > 0 && t != nothing {
			ratio = fmt.Sprintf("%.2f", added.median()/perfAdds)
		}
		if t.command != nil {
			own = fmt.Sprintf("%.0f", t.own.times(1e9*perSwitch).median())
			size = fmt.Sprintf("%.1f", t.size.times(perSwitch).median())
		}
		result.add(t.name, t.wall.times(1e9*perSwitch).text("%.0f"), added.times(1e9*perSwitch).text("%.0f"), ratio, own, size)
	}
	result.print()
	if bootscope := tracers[2]; perfAdds > 0 && len(bootscope.wall) > 0 {
		s.aim("Wall time added to a switch, to what perf record of switches adds", "at most 0.20",
			fmt.Sprintf("%.2f", bootscope.wall.minus(nothing.wall).median()/perfAdds))
	}
	return s.switchPrograms(n)
}

// switchCosts are nanoseconds of BPF programs for each switch: with its wake-ups, or without.
type switchCosts struct{ alone, withWakings sample }

func (c *switchCosts) add(switches, wakings programCost) {
	c.alone = append(c.alone, switches.ns/switches.runs)
	c.withWakings = append(c.withWakings, (switches.ns+wakings.ns)/switches.runs)
}

// switchPrograms asks the kernel's BPF statistics what the programs take for each switch, and the file what
// it keeps of it.
func (s *setup) switchPrograms(n int) error {
	setStats, restore, err := switchStats()
	if err != nil {
		return err
	}
	defer restore()
	if err := setStats(true); err != nil {
		return err
	}
	var empty, clock, bootscope switchCosts
	var perRecord, perSwitch sample
	lost := uint64(0)
	for range s.rounds {
		if err := empty.measure(emptyProgram, n); err != nil {
			fmt.Fprintf(output, "\nBPF time can't be measured here: %v\n", err)
			return nil
		}
		if err := clock.measure(clockProgram, n); err != nil {
			return err
		}
		trailer, err := s.record(s.file("programs.bst"), []string{"sched"}, pingPong(n)...)
		if err != nil {
			return err
		}
		for _, l := range trailer.Lost {
			lost += l.Count
		}
		bootscope.add(costOf(trailer, "sched_switch"), costOf(trailer, "sched_waking"))
		switches, wakings, size, err := schedRecords(s.file("programs.bst"))
		if err != nil {
			return err
		}
		perRecord, perSwitch = append(perRecord, size/(switches+wakings)), append(perSwitch, size/switches)
	}
	printSwitchCosts(s, &empty, &clock, &bootscope)
	fmt.Fprintf(output, "\nbootscope's file, all of it: %s bytes per record, %s bytes per switch with its wake-ups.\n", perRecord.text("%.2f"), perSwitch.text("%.2f"))
	s.aim(fmt.Sprintf("Events lost in %d recordings of %d switches in a row", s.rounds, 2*n), "none", fmt.Sprint(lost))
	return s.realSwitches()
}

func (c *switchCosts) measure(instructions asm.Instructions, n int) error {
	costs, err := measureBaseline(instructions, []string{switchHook, wakingHook}, pingPong(n)...)
	if err != nil {
		return err
	}
	c.add(costs[0], costs[1])
	return nil
}

func printSwitchCosts(s *setup, empty, clock, bootscope *switchCosts) {
	result := table{title: fmt.Sprintf("BPF time for each switch, by the kernel's statistics, %d rounds", s.rounds),
		columns: []string{"programs on", "empty, ns", "clock only, ns", "bootscope, ns", "bootscope to clock only", "without what is empty's"}}
	row := func(name string, empty, clock, bootscope sample) {
		result.add(name, empty.text("%.0f"), clock.text("%.0f"), bootscope.text("%.0f"),
			bootscope.over(clock).text("%.2f"), bootscope.minus(empty).over(clock.minus(empty)).text("%.2f"))
	}
	row("switches", empty.alone, clock.alone, bootscope.alone)
	row("switches and wake-ups", empty.withWakings, clock.withWakings, bootscope.withWakings)
	result.print()
	fmt.Fprintf(output, "\nWith wake-ups, bootscope takes %s times what reading the clock at switches alone takes.\n",
		bootscope.withWakings.over(clock.alone).text("%.2f"))
	const what = "BPF time for a switch, to that of a program that reads the clock"
	s.aim(what+", wake-ups off", "at most 1.25", bootscope.alone.over(clock.alone).text("%.2f"))
	s.aim(what+" on the same hooks, wake-ups on", "at most 1.60", bootscope.withWakings.over(clock.withWakings).text("%.2f"))
}

// realSwitches tells what the file keeps of switches that are not all alike. One storm has so few that the file's
// beginning, which tells of every process there was, would be most of it.
func (s *setup) realSwitches() error {
	storm, what := s.stormScript()
	times := s.scaled(20, 2)
	script := fmt.Sprintf("for i in $(seq %d); do\n%s\ndone", times, storm)
	_, err := s.record(s.file("real.bst"), []string{"sched"}, "sh", "-c", script)
	if err != nil {
		return err
	}
	switches, wakings, size, err := schedRecords(s.file("real.bst"))
	if err != nil {
		return err
	}
	fmt.Fprintf(output, "While %s start, %d times in a row, whose switches are not all alike: %.2f bytes per record, %.2f bytes per switch with its wake-ups (%.0f switches).\n",
		what, times, size/(switches+wakings), size/switches, switches)
	s.aim("Bytes in the file, of programs that start, for each record", "at most 6", fmt.Sprintf("%.2f", size/(switches+wakings)))
	s.aim("Bytes in the file, of programs that start, for each switch with its wake-ups", "at most 8", fmt.Sprintf("%.2f", size/switches))
	return nil
}

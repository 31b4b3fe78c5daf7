//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/bootscope/bootscope/tracer/record"
)

// A starter is a tracer whose start is measured: from its exec until it runs the command, which it does when
// all is attached.
type starter struct {
	name    string
	argv    []string // without the command
	oneWord bool     // it wants the command as one
	prepare func()
	file    string // bootscope's, which tells what verifying took

	wall, cpu, verified sample // ms
	memory              sample // MiB, without buffers
	missing             string // why it can't be measured here
}

// tells is what the traced command says of its parent, the tracer, once all is attached: the CPU time of its
// threads in nanoseconds, its largest resident set, and the buffers in it that it shares with the kernel.
const tells = `cat /proc/$PPID/task/*/schedstat; grep VmHWM /proc/$PPID/status
awk '/^[0-9a-f]+-/ { shared = /bpf-map|perf_event/ } /^Rss:/ && shared { n += $2 } END { print "Shared:", n + 0, "kB" }' /proc/$PPID/smaps
`

// sameProbes is a bpftrace program with a place for each of bootscope's that it can name, and the least to do there.
var sameProbes = func() string {
	var b strings.Builder
	for i, probe := range []string{
		"tracepoint:task:task_newtask", "tracepoint:sched:sched_process_exec", "tracepoint:sched:sched_process_exit",
		"tracepoint:task:task_rename", "tracepoint:raw_syscalls:sys_exit", "software:major-faults:1",
		"tracepoint:power:cpu_frequency", "profile:hz:199", "tracepoint:filemap:mm_filemap_add_to_page_cache",
		"tracepoint:filemap:mm_filemap_delete_from_page_cache", "tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin",
		"tracepoint:vmscan:mm_vmscan_memcg_reclaim_end", "tracepoint:vmscan:mm_vmscan_direct_reclaim_begin",
		"tracepoint:vmscan:mm_vmscan_direct_reclaim_end", "tracepoint:sched:sched_switch", "tracepoint:sched:sched_waking",
	} {
		fmt.Fprintf(&b, "%s { @[%d] = count(); } ", probe, i)
	}
	return b.String()
}()

func (s *setup) starters() []*starter {
	file := s.file("start.bst")
	bootscope := s.recordArgs(file)
	forget := func() { os.RemoveAll(record.CacheDir) } // what an installed one has is of another build
	return []*starter{
		{name: "bootscope, first start on a kernel", argv: append(bootscope, "--"), prepare: forget, file: file},
		{name: "bootscope, second start", argv: append(bootscope, "--"), file: file},
		{name: "bpftrace, the same probes", argv: []string{"bpftrace", "-e", sameProbes, "-c"}, oneWord: true},
		{name: "bpftrace, switches only", argv: []string{"bpftrace", "-e", "tracepoint:sched:sched_switch { @[args->next_pid] = count(); }", "-c"}, oneWord: true},
		{name: "perf record, the same probes", argv: []string{"perf", "record", "-q", "-B", "-a", "-e",
			"sched:sched_switch,sched:sched_waking,sched:sched_process_exec,raw_syscalls:sys_exit", "-o", s.file("start.data"), "--"}},
	}
}

// benchStart measures what a tracer takes until it has begun.
func benchStart(s *setup) error {
	script := s.file("tells")
	if err := os.WriteFile(script, []byte(tells), 0o600); err != nil {
		return err
	}
	starters := s.starters()
	for range s.rounds {
		for _, t := range starters {
			if t.missing != "" {
				continue
			}
			if err := t.start(script); err != nil {
				t.missing = err.Error()
			}
		}
	}
	result := table{title: fmt.Sprintf("%d rounds", s.rounds),
		columns: []string{"tracer", "wall, ms", "CPU, ms", "of that loading and verifying, ms", "peak memory without buffers, MiB"}}
	for _, t := range starters {
		if t.missing != "" {
			result.add(t.name, t.missing, "", "", "")
			continue
		}
		result.add(t.name, t.wall.text("%.0f"), t.cpu.text("%.1f"), t.verified.text("%.1f"), t.memory.text("%.1f"))
	}
	result.print()
	s.aimStarts(starters)
	return nil
}

func (s *setup) aimStarts(starters []*starter) {
	first, second, bpftrace := starters[0], starters[1], starters[2]
	if first.missing+second.missing+bpftrace.missing == "" {
		s.aim("CPU time of the first start, to bpftrace's", "at most 1", fmt.Sprintf("%.2f", first.cpu.over(bpftrace.cpu).median()))
		s.aim("CPU time of the second start without verifying, to bpftrace's", "at most 0.25",
			fmt.Sprintf("%.2f", second.cpu.minus(second.verified).over(bpftrace.cpu).median()))
	}
	if first.missing == "" {
		s.aim("Memory of the first start, buffers excluded", "under 32 MiB", fmt.Sprintf("%.1f MiB", first.memory.median()))
	}
}

// start runs the tracer with a command that tells of it.
func (t *starter) start(script string) error {
	if _, err := exec.LookPath(t.argv[0]); err != nil {
		return fmt.Errorf("not installed")
	}
	if t.prepare != nil {
		t.prepare()
	}
	command := []string{"/bin/sh", script}
	if t.oneWord {
		command = []string{strings.Join(command, " ")}
	}
	argv := slices.Concat(t.argv, command)
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	var cpu, memory float64
	var attached time.Duration
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if attached == 0 {
			attached = time.Since(begin)
		}
		var ran, waited, turns uint64
		if n, _ := fmt.Sscanf(lines.Text(), "%d %d %d", &ran, &waited, &turns); n == 3 {
			cpu += float64(ran) / 1e6
		}
		var kib float64
		if n, _ := fmt.Sscanf(lines.Text(), "VmHWM: %g kB", &kib); n == 1 {
			memory += kib / 1024
		}
		if n, _ := fmt.Sscanf(lines.Text(), "Shared: %g kB", &kib); n == 1 {
			memory -= kib / 1024
		}
	}
	if err := cmd.Wait(); err != nil || memory == 0 {
		return fmt.Errorf("does not work here: %v", err)
	}
	t.wall, t.cpu, t.memory = append(t.wall, attached.Seconds()*1e3), append(t.cpu, cpu), append(t.memory, memory)
	if t.file == "" {
		return nil
	}
	trailer, err := readTrailer(t.file)
	if err != nil {
		return err
	}
	t.verified = append(t.verified, float64(trailer.Self.LoadCPU)/1e6)
	return nil
}

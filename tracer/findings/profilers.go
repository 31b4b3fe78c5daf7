package findings

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// profilers looks for profilers, tracers and debuggers that somebody left on. What can be known is that such
// a program runs, or that Python was started with one; a profiler inside a program shows as its own work.
type profilers struct{ timeline.Discard }

// profilerPrograms by the name of the file.
var profilerPrograms = []string{
	"perf", "bpftrace", "py-spy", "strace", "ltrace", "gdb", "gdbserver", "valgrind", "sysprof", "sysprofd", "trace-cmd",
	"austin", "memray", "scalene", "pyinstrument", "heaptrack", "tcpdump", "dumpcap", "lttng-sessiond", "lttng-consumerd",
	"systemd-bootchart", "perfetto", "traced", "traced_probes",
}

// profilerModules are given to Python by -m.
var profilerModules = []string{
	"cProfile", "profile", "trace", "pdb", "yappi", "memray", "scalene", "pyinstrument", "viztracer", "line_profiler",
	"memory_profiler", "coverage",
}

// Find implements Detector.
func (profilers) Find(r *Recording) []Finding {
	if !r.idle() {
		return nil
	}
	var found []Finding
	for _, p := range r.Processes {
		what := profilerOf(p)
		if what == "" || p.Recorder || p.Kernel || p.Ended {
			continue
		}
		var wakeups uint64
		for _, th := range p.Threads {
			wakeups += th.Wakeups
		}
		found = append(found, Finding{
			ID:    "profiler-left-on",
			Title: what + " is running",
			Cost:  p.Times[timeline.Running],
			Unit:  unitOf(p), PID: p.PID,
			Evidence: []string{fmt.Sprintf("%s (pid %d): %s", p.Comm(), p.PID, strings.Join(p.Argv, " ")),
				fmt.Sprintf("it takes %s and wakes %s; what it does to others isn't in that", r.share(p.Times[timeline.Running]),
					rate(r.perSecond(wakeups)))},
			Remedy: "stop it unless it is wanted, and take it out of what starts with the machine",
		})
	}
	return found
}

// profilerOf names the profiler that a process is, "" for none.
func profilerOf(p *timeline.Process) string {
	program := path.Base(p.Exe)
	if slices.Contains(profilerPrograms, program) {
		return program
	}
	if !strings.HasPrefix(program, "python") {
		return ""
	}
	for i, a := range p.Argv {
		switch {
		case i == 1 && slices.Contains(profilerPrograms, path.Base(a)): // a script such as /usr/bin/memray
			return path.Base(a)
		case i > 0 && p.Argv[i-1] == "-m":
			if module, _, _ := strings.Cut(a, "."); slices.Contains(profilerModules, module) {
				return "Python's " + module
			}
			return ""
		case i > 0 && !strings.HasPrefix(a, "-"):
			return "" // the script; what follows is its own
		}
	}
	return ""
}

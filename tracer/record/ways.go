//go:build linux

package record

import (
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A way is one manner in which a probe can be attached. A probe has several, best first; the first
// whose programs all load and attach is kept.
type way struct {
	via      string // what the trace and the user call it
	object   objectKind
	programs []hook
	status   string   // what the probe's status is when this way works
	note     string   // what a lesser way lacks or costs
	needs    *feature // asked before anything is loaded, where loading is dear; nil: just try
}

// A hook is a program and the place where it is attached.
type hook struct {
	program string // name in the object
	attach  attachKind
	target  string // tracepoint as group/name, or kernel function; "" where the program says it
}

type objectKind int

const (
	coreObject  objectKind = iota // CO-RE: needs the kernel's BTF
	plainObject                   // no relocations: works without
)

type attachKind int

const (
	attachTracing    attachKind = iota // tp_btf, fentry, fexit
	attachKretprobe                    // return of a kernel function
	attachRawTP                        // raw tracepoint
	attachTracepoint                   // tracepoint
	attachMajorFault                   // perf software event, on every CPU
	attachSample                       // perf CPU clock, on every CPU
	attachMappings                     // perf's own records of mappings: no program
)

// A probe and its ways. Losses are counted by id.
type probe struct {
	id   event.Probe
	ways []way
}

const plainNote = "no BTF: "

// probes is the table of everything that can be recorded (DESIGN: probes).
var probes = []probe{
	{event.ProbeProcess, []way{
		{via: "tp_btf", object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{"process_fork", attachTracing, ""},
			{"process_exec", attachTracing, ""},
			{"process_exit", attachTracing, ""},
			{"process_rename", attachTracing, ""},
		}},
		{via: "tracepoint", object: plainObject, status: tracefile.StatusLesser,
			note: plainNote + "no exit codes, no counters at exit, paths of programs as the caller wrote them",
			programs: []hook{
				{"process_fork", attachTracepoint, "sched/sched_process_fork"},
				{"process_exec", attachTracepoint, "sched/sched_process_exec"},
				{"process_exit", attachTracepoint, "sched/sched_process_exit"},
				{"process_rename", attachTracepoint, "task/task_rename"},
			}},
	}},
	{event.ProbeCgroup, []way{
		{via: "tp_btf", object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{"cgroup_made", attachTracing, ""},
			{"cgroup_attach", attachTracing, ""},
		}},
	}},
	{event.ProbeOpen, []way{
		{via: "fexit/do_sys_openat2", object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{"open_fexit", attachTracing, ""},
		}},
		{via: "kretprobe/do_sys_openat2", object: coreObject, status: tracefile.StatusOn, needs: kprobes, programs: []hook{
			{"open_kretprobe", attachKretprobe, "do_sys_openat2"},
		}},
		{via: "tp_btf/sys_exit", object: coreObject, status: tracefile.StatusOn,
			note:     "each system call of the machine takes the traced path, under 100 ns more",
			programs: []hook{{"open_sys_exit", attachTracing, ""}}},
		{via: "raw_tp/sys_exit", object: plainObject, status: tracefile.StatusLesser,
			note:     plainNote + "names as the caller wrote them, no file identity",
			programs: []hook{{"open_sys_exit", attachRawTP, "sys_exit"}}},
	}},
	{event.ProbeFault, []way{
		{via: "perf/major-faults", object: coreObject, status: tracefile.StatusOn,
			programs: []hook{{"fault", attachMajorFault, ""}}},
		{via: "perf/major-faults", object: plainObject, status: tracefile.StatusOn,
			programs: []hook{{"fault", attachMajorFault, ""}}},
	}},
	{event.ProbeCpufreq, []way{
		{via: "tp_btf/cpu_frequency", object: coreObject, status: tracefile.StatusOn,
			programs: []hook{{"cpufreq", attachTracing, ""}}},
		{via: "tracepoint/power/cpu_frequency", object: plainObject, status: tracefile.StatusOn,
			programs: []hook{{"cpufreq", attachTracepoint, "power/cpu_frequency"}}},
	}},
	{event.ProbeSample, []way{
		{via: "perf/cpu-clock", object: coreObject, status: tracefile.StatusOn,
			programs: []hook{{"sample", attachSample, ""}}},
		{via: "perf/cpu-clock", object: plainObject, status: tracefile.StatusLesser,
			note:     plainNote + "no user stack pointer while in the kernel",
			programs: []hook{{"sample", attachSample, ""}}},
	}},
	{event.ProbeRead, []way{
		{via: "tracepoint", object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{"page_added", attachTracepoint, "filemap/mm_filemap_add_to_page_cache"},
			{"page_deleted", attachTracepoint, "filemap/mm_filemap_delete_from_page_cache"},
		}},
		{via: "tracepoint", object: plainObject, status: tracefile.StatusLesser,
			note: plainNote + "reads and writes, evictions and cut files are not told apart",
			programs: []hook{
				{"page_added", attachTracepoint, "filemap/mm_filemap_add_to_page_cache"},
				{"page_deleted", attachTracepoint, "filemap/mm_filemap_delete_from_page_cache"},
			}},
	}},
	{event.ProbeReclaim, []way{
		{via: "tracepoint", object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{"memcg_reclaim_begin", attachTracepoint, "vmscan/mm_vmscan_memcg_reclaim_begin"},
			{"memcg_reclaim_end", attachTracepoint, "vmscan/mm_vmscan_memcg_reclaim_end"},
			{"direct_reclaim_begin", attachTracepoint, "vmscan/mm_vmscan_direct_reclaim_begin"},
			{"direct_reclaim_end", attachTracepoint, "vmscan/mm_vmscan_direct_reclaim_end"},
		}},
	}},
	{event.ProbeMapping, []way{
		{via: "perf/mmap2", status: tracefile.StatusOn, programs: []hook{{"", attachMappings, ""}}},
	}},
	// Last, so that attaching the others is not recorded switch by switch.
	{event.ProbeSched, []way{
		{via: "tp_btf", object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{"sched_switch", attachTracing, ""},
			{"sched_waking", attachTracing, ""},
		}},
		{via: "tracepoint", object: plainObject, status: tracefile.StatusLesser,
			note: plainNote + "no I/O wait, no system call of a sleeping task",
			programs: []hook{
				{"sched_switch", attachTracepoint, "sched/sched_switch"},
				{"sched_waking", attachTracepoint, "sched/sched_waking"},
			}},
	}},
}

//go:build linux

package record

import (
	"slices"

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
	needs    *feature // asked before anything is loaded, where that is dear or tells nothing; nil: just try
	config   []string // kernel options that it needs besides those of every way
	// anyLock: the programs run where the kernel may sleep, or leave the ring buffer alone, so its lock may sleep.
	anyLock bool
}

// A hook is a program and the place where it is attached.
type hook struct {
	program string // name in the object
	attach  attachKind
	target  string // tracepoint as group/name, or kernel functions (sys_: of a system call), with commas; "" where the program says it
	wants   uint32 // attachSysExit: what for
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
	attachSysExit                      // the program at every system call's end, which probes share
	attachTracepoint                   // tracepoint
	attachMajorFault                   // perf software event, on every CPU
	attachSample                       // perf CPU clock, on every CPU
	attachMappings                     // perf's own records of mappings: no program
)

// A probe and its ways. Losses are counted by id.
type probe struct {
	id   event.Probe
	ways []way
	idle idleUse
}

// What becomes of a probe when an idle machine is looked at.
type idleUse int

const (
	always    idleUse = iota
	idleOnly          // too many events on a busy machine
	neverIdle         // it would wake idle CPUs
)

const plainNote = "no BTF: "

// kretprobeNote is why this comes after the end of system calls, which misses nothing.
const kretprobeNote = "calls are missed, and not counted, while as many wait as the kernel keeps returns for: from one to ten or so for each CPU"

// What the kernel must be built with. tracer/record/check.go looks these up in its configuration.
var (
	configBase   = []string{"CONFIG_BPF_SYSCALL", "CONFIG_BPF_JIT", "CONFIG_PERF_EVENTS", "CONFIG_BPF_EVENTS", "CONFIG_FTRACE", "CONFIG_CGROUPS"}
	configBTF    = []string{"CONFIG_DEBUG_INFO_BTF"}
	configFexit  = []string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_FUNCTION_TRACER", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"}
	configKprobe = []string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_KPROBES", "CONFIG_KPROBE_EVENTS"}
	configCgroup = []string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_CGROUPS"}
	configSocket = append(slices.Clone(configFexit), "CONFIG_NET")
)

// probes is the table of everything that can be recorded (DESIGN: probes).
var probes = []probe{
	{id: event.ProbeProcess, ways: []way{
		{via: "tp_btf", object: coreObject, config: configBTF, status: tracefile.StatusOn, programs: []hook{
			{program: "process_fork", attach: attachTracing},
			{program: "process_exec", attach: attachTracing},
			{program: "process_exit", attach: attachTracing},
			{program: "process_rename", attach: attachTracing},
		}},
		{via: "tracepoint", object: plainObject, status: tracefile.StatusLesser,
			note: plainNote + "no exit codes, no counters at exit, paths of programs as the caller wrote them",
			programs: []hook{
				{program: "process_fork", attach: attachTracepoint, target: "task/task_newtask"},
				{program: "process_exec", attach: attachTracepoint, target: "sched/sched_process_exec"},
				{program: "process_exit", attach: attachTracepoint, target: "sched/sched_process_exit"},
				{program: "process_rename", attach: attachTracepoint, target: "task/task_rename"},
				{program: "sys_exit", attach: attachSysExit, wants: wantArgs},
			}},
	}},
	{id: event.ProbeCgroup, ways: []way{
		{via: "tp_btf", object: coreObject, config: configCgroup, status: tracefile.StatusOn, programs: []hook{
			{program: "cgroup_made", attach: attachTracing},
			{program: "cgroup_attach", attach: attachTracing},
		}},
	}},
	{id: event.ProbeOpen, ways: []way{
		{via: "fexit/do_sys_openat2", config: configFexit, anyLock: true, object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{program: "open_fexit", attach: attachTracing},
		}},
		sysExitWay(wantOpen),
		{via: "kretprobe/do_sys_openat2", config: configKprobe, object: coreObject, status: tracefile.StatusLesser, needs: kprobes, note: kretprobeNote,
			programs: []hook{{program: "open_kretprobe", attach: attachKretprobe, target: "do_sys_openat2"}}},
		plainSysExitWay(wantOpen, "names as the caller wrote them, no file identity"),
	}},
	{id: event.ProbeSync, ways: []way{
		{via: "fexit/sys_fsync", config: configFexit, anyLock: true, object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{program: "fsync_fexit", attach: attachTracing},
			{program: "fdatasync_fexit", attach: attachTracing},
			{program: "sync_file_range_fexit", attach: attachTracing},
			{program: "msync_fexit", attach: attachTracing},
			{program: "syncfs_fexit", attach: attachTracing},
			{program: "sync_fexit", attach: attachTracing},
		}},
		sysExitWay(wantSync),
		{via: "kretprobe/sys_fsync", config: configKprobe, object: coreObject, status: tracefile.StatusLesser, needs: kprobes, note: kretprobeNote,
			programs: []hook{{program: "sync_kretprobe", attach: attachKretprobe,
				target: "sys_fsync,sys_fdatasync,sys_sync_file_range,sys_msync,sys_syncfs,sys_sync"}}},
		plainSysExitWay(wantSync, "the file is known by its descriptor only"),
	}},
	{id: event.ProbeSocket, ways: []way{
		{via: "fexit/__sys_connect", config: configSocket, anyLock: true, object: coreObject, status: tracefile.StatusOn, programs: []hook{
			{program: "connect_fexit", attach: attachTracing},
			{program: "bind_fexit", attach: attachTracing},
			{program: "listen_fexit", attach: attachTracing},
		}},
		sysExitWay(wantSocket),
		{via: "kretprobe/__sys_connect", config: configKprobe, object: coreObject, status: tracefile.StatusLesser, needs: kprobes, note: kretprobeNote,
			programs: []hook{{program: "socket_kretprobe", attach: attachKretprobe, target: "__sys_connect,__sys_bind,__sys_listen"}}},
		plainSysExitWay(wantSocket, ""),
	}},
	{id: event.ProbeFault, ways: []way{
		{via: "perf/major-faults", object: coreObject, status: tracefile.StatusOn,
			programs: []hook{{program: "fault", attach: attachMajorFault}}},
		{via: "perf/major-faults", object: plainObject, status: tracefile.StatusOn,
			programs: []hook{{program: "fault", attach: attachMajorFault}}},
	}},
	{id: event.ProbeCpufreq, ways: []way{
		{via: "tp_btf/cpu_frequency", needs: cpufreq, config: []string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_CPU_FREQ"},
			object: coreObject, status: tracefile.StatusOn,
			programs: []hook{{program: "cpufreq", attach: attachTracing}}},
		{via: "tracepoint/power/cpu_frequency", needs: cpufreq, config: []string{"CONFIG_CPU_FREQ"},
			object: plainObject, status: tracefile.StatusOn,
			programs: []hook{{program: "cpufreq", attach: attachTracepoint, target: "power/cpu_frequency"}}},
	}},
	{id: event.ProbeSample, ways: []way{
		{via: "perf/cpu-clock", config: configBTF, object: coreObject, status: tracefile.StatusOn,
			programs: []hook{{program: "sample", attach: attachSample}}},
		{via: "perf/cpu-clock", object: plainObject, status: tracefile.StatusLesser,
			note:     plainNote + "no user stack pointer while in the kernel",
			programs: []hook{{program: "sample", attach: attachSample}}},
	}, idle: neverIdle},
	{id: event.ProbeIrq, ways: []way{
		{via: "tp_btf", anyLock: true, object: coreObject, config: configBTF, status: tracefile.StatusOn, programs: []hook{
			{program: "irq_entry", attach: attachTracing},
			{program: "irq_exit", attach: attachTracing},
			{program: "softirq_entry", attach: attachTracing},
			{program: "softirq_exit", attach: attachTracing},
			{program: "hrtimer_entry", attach: attachTracing},
			{program: "hrtimer_exit", attach: attachTracing},
			{program: "timer_entry", attach: attachTracing},
			{program: "timer_exit", attach: attachTracing},
		}},
	}, idle: idleOnly},
	{id: event.ProbeRead, ways: []way{
		{via: "tracepoint", object: coreObject, config: configBTF, status: tracefile.StatusOn, programs: []hook{
			{program: "page_added", attach: attachTracepoint, target: "filemap/mm_filemap_add_to_page_cache"},
			{program: "page_deleted", attach: attachTracepoint, target: "filemap/mm_filemap_delete_from_page_cache"},
		}},
		{via: "tracepoint", object: plainObject, status: tracefile.StatusLesser,
			note: plainNote + "reads and writes, evictions and cut files are not told apart",
			programs: []hook{
				{program: "page_added", attach: attachTracepoint, target: "filemap/mm_filemap_add_to_page_cache"},
				{program: "page_deleted", attach: attachTracepoint, target: "filemap/mm_filemap_delete_from_page_cache"},
			}},
	}},
	{id: event.ProbeReclaim, ways: []way{
		{via: "tracepoint", object: coreObject, config: []string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_MEMCG"}, status: tracefile.StatusOn, programs: []hook{
			{program: "memcg_reclaim_begin", attach: attachTracepoint, target: "vmscan/mm_vmscan_memcg_reclaim_begin"},
			{program: "memcg_reclaim_end", attach: attachTracepoint, target: "vmscan/mm_vmscan_memcg_reclaim_end"},
			{program: "direct_reclaim_begin", attach: attachTracepoint, target: "vmscan/mm_vmscan_direct_reclaim_begin"},
			{program: "direct_reclaim_end", attach: attachTracepoint, target: "vmscan/mm_vmscan_direct_reclaim_end"},
		}},
	}},
	{id: event.ProbeMapping, ways: []way{
		{via: "perf/mmap2", anyLock: true, status: tracefile.StatusOn, programs: []hook{{attach: attachMappings}}},
	}},
	// Last, so that attaching the others is not recorded switch by switch.
	{id: event.ProbeSched, ways: []way{
		{via: "tp_btf", anyLock: true, object: coreObject, config: configBTF, status: tracefile.StatusOn, programs: []hook{
			{program: "sched_switch", attach: attachTracing},
			{program: "sched_waking", attach: attachTracing},
		}},
		{via: "tracepoint", anyLock: true, object: plainObject, status: tracefile.StatusLesser,
			note: plainNote + "no I/O wait, no system call of a sleeping task",
			programs: []hook{
				{program: "sched_switch", attach: attachTracepoint, target: "sched/sched_switch"},
				{program: "sched_waking", attach: attachTracepoint, target: "sched/sched_waking"},
			}},
	}},
}

// ProbeNames lists the probes.
func ProbeNames() []string {
	var names []string
	for _, p := range probes {
		names = append(names, p.id.String())
	}
	return names
}

// WaysOf lists how a probe can be attached, best first.
func WaysOf(name string) []string {
	var ways []string
	for _, p := range probes {
		if p.id.String() == name {
			for _, w := range p.ways {
				ways = append(ways, w.via)
			}
		}
	}
	return ways
}

// sysExitWay is the way that works everywhere for what can be seen when a system call returns.
func sysExitWay(wants uint32) way {
	return way{via: "tp_btf/sys_exit", object: coreObject, status: tracefile.StatusOn, config: configBTF,
		note:     "each system call of the machine takes the traced path, under 100 ns more",
		programs: []hook{{program: "sys_exit", attach: attachSysExit, wants: wants}}}
}

func plainSysExitWay(wants uint32, lacks string) way {
	w := way{via: "raw_tp/sys_exit", object: plainObject, status: tracefile.StatusOn,
		programs: []hook{{program: "sys_exit", attach: attachSysExit, wants: wants}}}
	if lacks != "" {
		w.status, w.note = tracefile.StatusLesser, plainNote+lacks
	}
	return w
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * events.h: the wire contract, the one place where an event is defined.
 *
 * The BPF programs fill these structs, the generator (bpf/gen) reads them back from the
 * object's BTF and writes tracer/event, and from there the decoder, the dump and the docs.
 *
 * Rules:
 *  - An event is a fixed-width struct that begins with an event_header and has no implicit
 *    padding. Some are followed by a tail of header.tail bytes (a name, a path, arguments).
 *  - A field's typedef is its meaning and its unit; its trailing comment is its documentation.
 *  - Fields are only ever appended, kinds are only ever added: an old trace stays readable.
 *  - tid and pid have their user-space meaning: pid is the process (the kernel's tgid).
 */
#ifndef BOOTSCOPE_EVENTS_H
#define BOOTSCOPE_EVENTS_H

typedef __u64 boot_ns;       /* nanoseconds of CLOCK_BOOTTIME */
typedef __u64 duration_ns;   /* nanoseconds */
typedef __u64 clock_ns;      /* nanoseconds of the clock that the field names */
typedef __u64 address;       /* virtual address */
typedef __u64 file_id;       /* names a path event; 0 is none */
typedef __u64 cgroup_id;     /* inode of the cgroup's directory; 0 is unknown */
typedef __u64 inode_number;
typedef __u64 byte_count;
typedef __u64 event_count;
typedef __u32 device_number; /* as the kernel packs it: major << 20 | minor */
typedef __u32 namespace_id;  /* inode of the namespace */
typedef __u32 task_id;
typedef __u32 kilohertz;
typedef __u32 flag_bits;     /* the bits are enumerated beside the event */
typedef __u32 open_flags;    /* O_* of open(2) */
typedef __s32 descriptor;    /* file descriptor, or AT_FDCWD (-100) */
typedef __s32 result_code;   /* a value, or a negative errno */
typedef __s32 wait_status;   /* as wait(2) reports it */
typedef __u32 file_mode;     /* st_mode */
typedef __u16 syscall_number;/* 0xffff is none */

#define TASK_COMM_BYTES 16
#define NO_SYSCALL 0xffff

enum event_kind {
	KIND_SWITCH = 1,
	KIND_WAKING = 2,
	KIND_FORK = 3,
	KIND_EXEC = 4,
	KIND_ARGS = 5,
	KIND_EXIT = 6,
	KIND_RENAME = 7,
	KIND_OPEN = 8,
	KIND_PATH = 9,
	KIND_FAULT = 10,
	KIND_CPUFREQ = 11,
	KIND_SAMPLE = 12,
	KIND_CGROUP = 13,
	KIND_CGROUP_ATTACH = 14,
	KIND_TASK = 15,
	KIND_CLOCK = 16,
	KIND_LOST = 17,
	KIND_MAPPING = 18,
	KIND_READ = 19,
	KIND_RECLAIM = 20,
	KIND_SYNC = 21,
	KIND_SOCKET = 22,
	KIND_INTERRUPTS = 23,
	KIND_KERNEL_LOG = 24,
	KIND_UNIT = 25,
	KIND_MANAGER = 26,
	KIND_JOURNAL = 27,
	KIND_MILESTONE = 28,
	KIND_MEMORY = 29,
};

/* A probe is what a user switches on or off and what losses are counted by. */
enum probe_id {
	PROBE_SCHED = 0,
	PROBE_PROCESS = 1,
	PROBE_OPEN = 2,
	PROBE_FAULT = 3,
	PROBE_CPUFREQ = 4,
	PROBE_SAMPLE = 5,
	PROBE_CGROUP = 6,
	PROBE_MAPPING = 7,
	PROBE_READ = 8,
	PROBE_RECLAIM = 9,
	PROBE_SYNC = 10,
	PROBE_SOCKET = 11,
	PROBE_IRQ = 12,
	PROBE_COUNT,
};

struct event_header {
	boot_ns time;
	task_id tid;   /* the task that was current */
	task_id pid;   /* its process; 0 when the probe can't know it */
	__u16 kind;
	__u16 cpu;
	__u32 tail;    /* bytes that follow the fixed part */
};

/* Why the previous task left the CPU. */
enum task_state {
	STATE_PREEMPTED = 0,  /* runnable, another task was chosen */
	STATE_YIELDED = 1,    /* runnable, gave the CPU away */
	STATE_SLEEPING = 2,   /* interruptible */
	STATE_BLOCKED = 3,    /* uninterruptible, not marked as I/O */
	STATE_IO_WAIT = 4,    /* uninterruptible, marked as I/O (in_iowait) */
	STATE_STOPPED = 5,    /* stopped, traced or parked */
	STATE_DEAD = 6,
	STATE_IDLE = 7,       /* TASK_IDLE: a kernel thread that waits for work */
};

/* A context switch. In the ring it is one packed word, see sched.h; header.tid left the CPU. */
struct event_switch {
	struct event_header header;
	task_id next;           /* who runs now; 0 is the idle task */
	__u8 state;             /* enum task_state of the one who left */
	__u8 compat;            /* 1: the system call is from the 32-bit table */
	syscall_number syscall; /* in which the one who left sleeps */
};

/* What makes a task runnable. Told apart only with the irq probe, which idle switches on. */
enum waker {
	WAKER_TASK = 0,     /* the current task, or without the irq probe anything */
	WAKER_IRQ = 1,      /* a device's interrupt; the number is the line's */
	WAKER_SOFTIRQ = 2,  /* a soft interrupt; the number is its vector */
	WAKER_TIMER = 3,    /* an hrtimer: nanosleep, and the time-outs of poll, futex and the like */
	WAKER_TIMER_WHEEL = 4, /* a low-resolution timer of the kernel */
};

/* header.tid (or an interrupt above it, see by) makes target runnable. Packed like a switch. */
struct event_waking {
	struct event_header header;
	task_id target;
	__u16 by;           /* enum waker */
	__u16 number;       /* of the interrupt */
};

/* A new task, seen in its parent. The kind of id says what it is: a thread has its parent's pid. */
struct event_fork {
	struct event_header header;
	task_id child_tid;
	task_id child_pid;  /* 0 when the probe can't know it */
	cgroup_id cgroup;   /* the child's own */
};

/* A successful exec. Tail: the name it was called by. */
struct event_exec {
	struct event_header header;
	file_id exe;
	cgroup_id cgroup;
	task_id old_tid;    /* differs from header.tid when a thread other than the first called exec */
	namespace_id mount_ns;
};

/* The arguments of the exec just before. Tail: strings, each ended by a NUL. */
struct event_args {
	struct event_header header;
	byte_count total;   /* more than the tail holds: the arguments are cut */
};

enum exit_flags {
	EXIT_COUNTERS = 1,  /* the counters below were measured */
	EXIT_STORAGE = 2,   /* and what it moved from and to storage */
};

/* A task ends. Counters are this task's own, not its whole process's. */
struct event_exit {
	struct event_header header;
	duration_ns cpu_time;     /* sum_exec_runtime */
	event_count minor_faults;
	event_count major_faults;
	wait_status status;
	flag_bits flags;
	byte_count read_bytes;    /* from storage, as the block layer counts them */
	byte_count written_bytes; /* likewise, to storage, maybe later */
};

/* A task gets another comm. */
struct event_rename {
	struct event_header header;
	task_id target;
	__u32 reserved;
	__u8 comm[TASK_COMM_BYTES];
};

enum open_how_bits {
	OPEN_COMPAT = 1,    /* a 32-bit caller */
	OPEN_NAME_CUT = 2,  /* the name in the tail is longer than was copied */
	OPEN_NAME_LOST = 4, /* the name could not be read */
};

/*
 * An open(2), openat(2), openat2(2) or creat(2) returned. A success names its file. A failure, and
 * any open where the file can't be seen, has the name as the caller wrote it in the tail and the
 * directory it was relative to in base.
 */
struct event_open {
	struct event_header header;
	file_id file;
	file_id base;       /* directory that the name starts from; of an absolute one, the caller's root */
	address user_sp;    /* user stack pointer of the caller */
	result_code result; /* descriptor or negative errno */
	open_flags flags;
	descriptor dirfd;
	flag_bits how;
};

enum path_flags {
	PATH_CUT = 1,         /* over 64 components or 4,095 bytes: the end is here, the beginning not */
	PATH_NONE = 2,        /* pipe, socket, memfd: no path */
	PATH_UNLINKED = 4,
};

/* The path of a file, sent once. Tail: the names from the leaf up, each ended by a NUL. */
struct event_path {
	struct event_header header;
	file_id file;
	inode_number inode;
	inode_number parent;
	byte_count size;      /* of the file when the path was sent */
	device_number device;
	__u32 generation;
	namespace_id mount_ns;
	file_mode mode;
	flag_bits flags;
	__u32 reserved;
};

/* A major page fault, in the task that had it. */
struct event_fault {
	struct event_header header;
	address addr;
	address ip;
	address user_sp;
};

struct event_cpufreq {
	struct event_header header;
	kilohertz frequency;
	__u32 target_cpu;
};

enum sample_flags {
	SAMPLE_KERNEL = 1,   /* ip is in the kernel; user_ip is where it will return to */
	SAMPLE_NO_USER = 2,  /* no user registers: kernel thread, or they can't be found here */
};

/* What ran when the sampling clock ticked. Idle CPUs send none. */
struct event_sample {
	struct event_header header;
	address ip;
	address user_ip;
	address user_sp;
	flag_bits flags;
	__u32 reserved;
};

/*
 * A cgroup exists (made now, or found at start). Tail: its path in the hierarchy. Ids are unique in
 * one hierarchy only; those of tasks are of the unified one (cgroup v2).
 */
struct event_cgroup {
	struct event_header header;
	cgroup_id cgroup;
	__u32 hierarchy;    /* 0 is the unified one, others as in /proc/cgroups */
	__u32 reserved;
};

/* A task moves to another cgroup. */
struct event_cgroup_attach {
	struct event_header header;
	cgroup_id cgroup;
	task_id target;
	__u32 whole_process;
	__u32 hierarchy;    /* as in a cgroup event */
	__u32 reserved;
};

/* ---- written by the recorder, not by BPF ---- */

enum task_phase {
	TASK_AT_START = 0,  /* existed before the recording */
	TASK_AT_END = 1,    /* still there when it ended */
};

/* A task as /proc shows it. Tail: exe, NUL, then the arguments, each ended by a NUL. */
struct event_task {
	struct event_header header;
	boot_ns start;
	duration_ns cpu_time;
	event_count minor_faults;
	event_count major_faults;
	cgroup_id cgroup;
	task_id parent;     /* pid of the parent */
	__u8 state;         /* the letter of /proc/PID/stat */
	__u8 phase;         /* enum task_phase */
	__u8 kernel_thread;
	__u8 has_storage;   /* 1: read_bytes and written_bytes were measured */
	__u8 comm[TASK_COMM_BYTES];
	byte_count read_bytes;    /* from storage, as the block layer counts them */
	byte_count written_bytes; /* likewise, to storage, maybe later */
};

enum clock_reason {
	CLOCK_AT_START = 0,
	CLOCK_STEPPED = 1,
	CLOCK_AT_END = 2,
};

/* The clocks read together; header.time is the boot-time clock. */
struct event_clock {
	struct event_header header;
	clock_ns realtime;   /* since 1970 */
	clock_ns monotonic;
	__u32 reason;        /* enum clock_reason */
	__u32 reserved;
};

enum lost_reason {
	LOST_FULL = 0,    /* the buffer had no room; of reads also: the table of evicted pages, a block of 64 was forgotten */
	LOST_NESTED = 1,  /* one event interrupted another on the same CPU */
	LOST_SKIPPED = 2, /* the kernel did not run the program (recursion_misses) */
	LOST_DISK = 3,    /* the recorder could not write it out */
};

/* Events of one probe on one CPU that were lost since the lost event before. */
struct event_lost {
	struct event_header header;
	event_count count;
	__u16 probe;        /* enum probe_id */
	__u16 reason;       /* enum lost_reason */
	__u32 reserved;
};

#define BUILD_ID_BYTES 20

/*
 * An executable mapping of a file, made now or found at start (/proc/PID/maps): it gives
 * instruction pointers their names. Tail: the path as the kernel shows it.
 */
struct event_mapping {
	struct event_header header;
	address start;
	byte_count length;
	byte_count offset;    /* in the file */
	inode_number inode;
	device_number device;
	__u32 build_id_bytes; /* 0 when it isn't known */
	__u32 protection;     /* PROT_* of mmap(2) */
	__u32 map_flags;      /* MAP_* of mmap(2) */
	__u8 build_id[BUILD_ID_BYTES];
	__u32 reserved;
};

enum read_flags {
	READ_COMPAT = 1,        /* the system call is from the 32-bit table */
	READ_CALLER_UNKNOWN = 2,/* neither system call nor page fault is known here */
	READ_KERNEL_THREAD = 4, /* by the kernel on somebody's behalf */
};

/*
 * Pages of a file came into the page cache, one after the other, brought by one task in one call.
 * A write brings pages too: the system call tells.
 */
struct event_read {
	struct event_header header; /* its time is when the run of pages was known to be over */
	boot_ns start;         /* when the first came */
	boot_ns last;          /* when the last came */
	inode_number inode;
	__u64 index;           /* of the first page in the file */
	device_number device;
	__u32 pages;           /* of header.page_size bytes */
	__u32 again;           /* of these: had been evicted by reclaim in this recording */
	__u32 dropped;         /* of these: had been dropped on demand (drop_caches, fadvise) */
	syscall_number syscall;/* that brought them; 0xffff is a page fault */
	__u16 reserved;
	flag_bits flags;
};

enum reclaim_phase {
	RECLAIM_BEGIN = 0,
	RECLAIM_END = 1,
};

enum reclaim_kind {
	RECLAIM_MEMCG = 0,   /* a cgroup met its limit */
	RECLAIM_GLOBAL = 1,  /* the machine ran short of memory */
};

/* The current task has to free memory itself before it goes on (direct reclaim). */
struct event_reclaim {
	struct event_header header;
	cgroup_id cgroup;    /* whose memory it is charged to, in hierarchy */
	event_count pages;   /* at the end: how many were freed */
	__u32 hierarchy;     /* as in a cgroup event */
	__u16 phase;         /* enum reclaim_phase */
	__u16 kind;          /* enum reclaim_kind */
};

/*
 * fsync(2), fdatasync(2), sync_file_range(2), msync(2), syncfs(2) or sync(2) returned. How long it took
 * is in the switches of the task, which name the system call.
 */
struct event_sync {
	struct event_header header;
	file_id file;          /* 0 for sync and msync, and where it can't be seen */
	descriptor fd;         /* -1 for sync and msync */
	result_code result;
	syscall_number syscall;
	__u16 compat;          /* 1: the system call is from the 32-bit table */
	__u32 reserved;
};

enum socket_call {
	SOCKET_CONNECT = 0,
	SOCKET_BIND = 1,
	SOCKET_LISTEN = 2,
};

/*
 * connect(2), bind(2) or listen(2) returned. Tail: the path of a Unix socket; one that begins with a
 * NUL is abstract. A listen has no address: it is that of the bind of the same descriptor.
 */
struct event_socket {
	struct event_header header;
	descriptor fd;
	result_code result;
	__u16 call;            /* enum socket_call */
	__u16 family;          /* AF_*: 1 Unix, 2 IPv4, 10 IPv6 */
	__u16 port;
	__u16 reserved;
	__u8 ip[16];           /* IPv4 in the first four bytes */
};

/* What one kind of interrupt work took on all CPUs, summed in the kernel until the end. Tail: its name. */
struct event_interrupts {
	struct event_header header;
	event_count count;
	duration_ns total;
	__u16 by;              /* enum waker */
	__u16 number;
	__u32 reserved;
};

/* A line of the kernel's log. Its time is when it was logged. Tail: the text. */
struct event_kernel_log {
	struct event_header header;
	__u32 priority;        /* facility << 3 | level, as in syslog(3) */
	__u32 sequence;
};

/*
 * What systemd says of a unit, when it was asked. A time is 0 when that never happened in this boot.
 * Tail: properties as NAME=VALUE, each ended by a NUL, Id= first; a list has its values separated by
 * spaces, a time is in nanoseconds from boot.
 */
struct event_unit {
	struct event_header header;
	boot_ns activating;    /* InactiveExitTimestamp */
	boot_ns active;        /* ActiveEnterTimestamp */
	boot_ns deactivating;  /* ActiveExitTimestamp */
	boot_ns inactive;      /* InactiveEnterTimestamp */
	task_id main_pid;
	__u32 caught_live;     /* 1: from a signal in the recording, 0: asked for */
};

/* What systemd says of the boot. Tail as of a unit: Version, SystemState, Virtualization and the like. */
struct event_manager {
	struct event_header header;
	duration_ns firmware;  /* before the loader; 0 when the firmware doesn't tell */
	duration_ns loader;    /* before the kernel */
	boot_ns initrd;        /* when it began; 0 without one */
	boot_ns userspace;     /* when the real system's systemd began */
	boot_ns finished;      /* 0: not yet */
};

/* A message of the journal. Tail: unit, identifier, message, each ended by a NUL. */
struct event_journal {
	struct event_header header;
	clock_ns realtime;     /* as the journal has it */
	__u32 priority;
	__u32 reserved;
};

/* A moment that somebody named. Tail: its name, then where it was taken from, each ended by a NUL. */
struct event_milestone {
	struct event_header header;
};

enum memory_phase {
	MEMORY_AT_START = 0,
	MEMORY_MEANWHILE = 1,
	MEMORY_AT_END = 2,
};

enum memory_flags {
	MEMORY_SCANS = 1,    /* pages_scanned and pages_reclaimed were there (cgroup v2) */
	MEMORY_PRESSURE = 2, /* stalled was there (cgroup v2 with pressure stall information) */
};

/*
 * A cgroup whose memory has a limit, as the memory controller's files show it: counters are of the
 * cgroup and all below it, since it was made.
 */
struct event_memory {
	struct event_header header;
	cgroup_id cgroup;
	byte_count max;        /* more is never charged: memory.max, memory.limit_in_bytes; all ones is none */
	byte_count high;       /* more makes tasks free memory and wait: memory.high (v2); all ones is none */
	byte_count usage;      /* charged now */
	byte_count anon;       /* of it: of programs, not of files */
	byte_count file;       /* of it: page cache */
	byte_count swap;       /* swapped out */
	event_count high_events;     /* how often it was over high */
	event_count max_events;      /* how often it met max (v1: memory.failcnt) */
	event_count oom_kills;
	event_count file_refaults;   /* pages of files that came back after reclaim */
	event_count anon_refaults;   /* pages of programs that came back from swap */
	event_count major_faults;
	event_count pages_scanned;   /* by reclaim */
	event_count pages_reclaimed;
	duration_ns stalled;   /* in which a task or more waited for memory (memory.pressure, some) */
	__u32 hierarchy;       /* as in a cgroup event */
	flag_bits flags;       /* enum memory_flags */
	__u32 phase;           /* enum memory_phase */
	__u32 reserved;
};

/*
 * The ring buffer's value type: it keeps every struct and enum in the object's BTF, which is where
 * the generator finds them.
 */
union event {
	struct event_header header;
	struct event_switch switch_;
	struct event_waking waking;
	struct event_fork fork;
	struct event_exec exec;
	struct event_args args;
	struct event_exit exit;
	struct event_rename rename;
	struct event_open open;
	struct event_path path;
	struct event_fault fault;
	struct event_cpufreq cpufreq;
	struct event_sample sample;
	struct event_cgroup cgroup;
	struct event_cgroup_attach cgroup_attach;
	struct event_task task;
	struct event_clock clock;
	struct event_lost lost;
	struct event_mapping mapping;
	struct event_read read;
	struct event_reclaim reclaim;
	struct event_sync sync;
	struct event_socket socket;
	struct event_interrupts interrupts;
	struct event_memory memory;
	struct event_kernel_log kernel_log;
	struct event_unit unit;
	struct event_manager manager;
	struct event_journal journal;
	struct event_milestone milestone;

	enum event_kind kinds;
	enum probe_id probes;
	enum task_state task_states;
	enum exit_flags exit_flags;
	enum open_how_bits open_how_bits;
	enum path_flags path_flags;
	enum sample_flags sample_flags;
	enum task_phase task_phases;
	enum clock_reason clock_reasons;
	enum lost_reason lost_reasons;
	enum read_flags read_flags;
	enum reclaim_phase reclaim_phases;
	enum reclaim_kind reclaim_kinds;
	enum socket_call socket_calls;
	enum waker wakers;
	enum memory_phase memory_phases;
	enum memory_flags memory_flags;
};

#endif

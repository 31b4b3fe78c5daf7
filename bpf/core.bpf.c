//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * core.bpf.c: the programs for kernels with BTF (CO-RE). Sections name the first choice of each
 * probe; tracer/record/ways.go has the order in which they are tried.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "events.h"
#include "registers.h"
#include "kernel.h"
#include "core_fixes.h"
#include "config.h"
#include "maps.h"
#include "sched.h"
#include "irq.h"
#include "scratch.h"
#include "file.h"
#include "syscalls.h"
#include "open.h"
#include "perf.h"
#include "pagecache.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- saved registers ---- */

/* Where a task's user registers are, for kernels without bpf_task_pt_regs. */
static __always_inline void *registers_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, stack) + thread_size - bpf_core_type_size(struct pt_regs);
}

/* Copies the current task's user registers, if it has any: a kernel thread's would read as system call 0. */
static __always_inline int read_registers(struct user_registers *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	void *saved;

	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	if (has_task_pt_regs)
		saved = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		saved = registers_of(task);
	return bpf_probe_read_kernel(regs, sizeof(*regs), saved) == 0;
}

/* ---- sched ---- */

static __always_inline __u32 state_of(struct task_struct *task, int preempted, unsigned int bits)
{
	if (preempted)
		return STATE_PREEMPTED;
	if (bits & TASK_DEAD_OR_ZOMBIE)
		return STATE_DEAD;
	if (bits & TASK_STOPPED_OR_TRACED)
		return STATE_STOPPED;
	if (bits & TASK_UNINTERRUPTIBLE) {
		if (bits & TASK_NOLOAD)
			return STATE_IDLE;
		return BPF_CORE_READ_BITFIELD(task, in_iowait) ? STATE_IO_WAIT : STATE_BLOCKED;
	}
	if (bits & TASK_INTERRUPTIBLE)
		return STATE_SLEEPING;
	return STATE_YIELDED;
}

/* The system call that a task sleeps in, or NO_SYSCALL: a page fault and an interrupt save a negative number. */
static __always_inline __u32 sleeping_syscall(struct task_struct *task, int *compat)
{
	int nr = -1;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return NO_SYSCALL;
	if (has_task_pt_regs) {
		struct pt_regs *regs = (void *)bpf_task_pt_regs(task);

		nr = REG_SYSCALL(regs);
		*compat = REG_IS_COMPAT(regs);
	} else {
		struct user_registers regs;

		if (bpf_probe_read_kernel(&regs, sizeof(regs), registers_of(task)) == 0) {
			nr = REG_SYSCALL(&regs);
			*compat = REG_IS_COMPAT(&regs);
		}
	}
	return nr >= 0 && nr < NO_SYSCALL ? nr : NO_SYSCALL;
}

SEC("tp_btf/sched_switch")
int sched_switch(__u64 *ctx)
{
	int preempted = ctx[0] & 1;
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	/* The tracepoint's own argument where there is one (5.18): by now the task may say otherwise. */
	unsigned int bits = switch_state_arg == 3 ? (unsigned int)ctx[3] : task_state_bits(prev);
	__u32 state = state_of(prev, preempted, bits);
	__u32 syscall = NO_SYSCALL;
	__u64 about = 0;
	int compat = 0;

	if (state > STATE_YIELDED && state < STATE_STOPPED)
		syscall = sleeping_syscall(prev, &compat);
	if (syscall == NO_SYSCALL) {
		syscall = WORD_NO_SYSCALL;
	} else if (compat || syscall >= WORD_NO_SYSCALL) {
		about = note(NOTE_SYSCALL, syscall | (compat ? NOTE_COMPAT_BIT : 0));
		syscall = WORD_NO_SYSCALL;
	}
	sched_event(WORD_SWITCH, next->pid, state, syscall, prev->pid, about);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(__u64 *ctx)
{
	struct task_struct *target = (void *)ctx[0];
	__u32 waker = tell_wakers ? current_waker() : WAKER_TASK;

	sched_event(WORD_WAKING, target->pid, 0, WORD_NO_SYSCALL, (__u32)bpf_get_current_pid_tgid(),
		    waker ? note(NOTE_WAKER, waker) : 0);
	return 0;
}

/* ---- process ---- */

static __always_inline cgroup_id cgroup_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

SEC("tp_btf/sched_process_fork")
int process_fork(__u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];
	struct event_fork event = {};

	fill_header(&event.header, KIND_FORK, 0);
	event.child_tid = child->pid;
	event.child_pid = child->tgid;
	event.cgroup = cgroup_of(child);
	emit(PROBE_PROCESS, &event, sizeof(event));
	return 0;
}

/* The arguments are in the new stack, which exec has just written. */
static __always_inline void send_args(struct task_struct *task)
{
	struct scratch *scratch = take_scratch(PROBE_PROCESS);
	unsigned long start = BPF_CORE_READ(task, mm, arg_start);
	unsigned long end = BPF_CORE_READ(task, mm, arg_end);
	struct event_args *event;
	__u64 len;

	if (!scratch)
		return;
	event = (void *)scratch->event;
	fill_header(&event->header, KIND_ARGS, 0);
	event->total = end > start ? end - start : 0;
	len = event->total;
	if (len > TAIL_MAX)
		len = TAIL_MAX;
	if (bpf_probe_read_user(TAIL_OF(scratch, struct event_args), len, (void *)start) != 0)
		len = 0;
	emit_with_tail(PROBE_PROCESS, scratch, sizeof(struct event_args), len);
	release_scratch(scratch);
}

SEC("tp_btf/sched_process_exec")
int process_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	struct event_exec *event;
	struct scratch *scratch;
	struct path path;
	file_id exe;
	long len;

	file_path(BPF_CORE_READ(bprm, file), &path);
	exe = name_path(&path, PROBE_PROCESS);
	scratch = take_scratch(PROBE_PROCESS);
	if (!scratch)
		return 0;
	event = (void *)scratch->event;
	fill_header(&event->header, KIND_EXEC, 0);
	event->exe = exe;
	event->cgroup = cgroup_of(task);
	event->old_tid = ctx[1];
	event->mount_ns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	len = bpf_probe_read_kernel_str(TAIL_OF(scratch, struct event_exec), TAIL_MAX, BPF_CORE_READ(bprm, filename));
	emit_with_tail(PROBE_PROCESS, scratch, sizeof(struct event_exec), len > 0 ? len - 1 : 0);
	release_scratch(scratch);
	if (want_args)
		send_args(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct event_exit event = {};

	fill_header(&event.header, KIND_EXIT, 0);
	event.cpu_time = task->se.sum_exec_runtime;
	event.minor_faults = task->min_flt;
	event.major_faults = task->maj_flt;
	event.status = task->exit_code;
	event.flags = EXIT_COUNTERS;
	if (bpf_core_field_exists(task->ioac.read_bytes)) { /* CONFIG_TASK_IO_ACCOUNTING */
		event.flags |= EXIT_STORAGE;
		event.read_bytes = task->ioac.read_bytes;
		event.written_bytes = task->ioac.write_bytes;
	}
	emit(PROBE_PROCESS, &event, sizeof(event));
	return 0;
}

SEC("tp_btf/task_rename")
int process_rename(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct event_rename event = {};

	fill_header(&event.header, KIND_RENAME, 0);
	event.target = task->pid;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), (void *)ctx[1]);
	emit(PROBE_PROCESS, &event, sizeof(event));
	return 0;
}

/* ---- system calls that returned: open, sync, socket ---- */

/* What names the open's file: itself if it was opened, else the directory that its name starts from. */
static __always_inline void find_path(struct open_call *open, struct path *path)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct file *file = 0;
	__u8 first = 0;

	if (open->result >= 0) {
		file = descriptor_file(task, open->result);
	} else {
		bpf_probe_read_user(&first, sizeof(first), open->name);
		if (first == '/') {
			path->mnt = BPF_CORE_READ(task, fs, root.mnt);
			path->dentry = BPF_CORE_READ(task, fs, root.dentry);
			return;
		}
		if (open->dirfd == AT_FDCWD) {
			path->mnt = BPF_CORE_READ(task, fs, pwd.mnt);
			path->dentry = BPF_CORE_READ(task, fs, pwd.dentry);
			return;
		}
		file = descriptor_file(task, open->dirfd);
	}
	if (file)
		file_path(file, path);
}

static __always_inline void send_open(struct finished_call *call)
{
	struct open_call open = {};
	struct event_open event;
	struct path path = {};
	file_id id;

	read_open_call(&open, call);
	find_path(&open, &path);
	id = name_path(&path, PROBE_OPEN);
	if (open.result < 0 || !id) {
		send_open_by_name(&open, id);
		return;
	}
	fill_open(&event, &open);
	event.file = id;
	emit(PROBE_OPEN, &event, sizeof(event));
}

static __always_inline void send_core_sync(struct finished_call *call)
{
	int fd = sync_descriptor(call);
	struct path path = {};
	struct file *file;

	if (fd >= 0) {
		file = descriptor_file((void *)bpf_get_current_task(), fd);
		if (file)
			file_path(file, &path);
	}
	send_sync(call, fd, name_path(&path, PROBE_SYNC));
}

/* A function that only the wanted system calls end in has returned. */
static __always_inline int call_returned(__u32 want, long result)
{
	struct finished_call call;
	__u32 class;

	if (!read_registers(&call.regs))
		return 0;
	decode_call(&call, result);
	class = class_of(call.nr, call.compat) & want;
	if (class == WANT_OPEN)
		send_open(&call);
	else if (class == WANT_SYNC)
		send_core_sync(&call);
	else if (class == WANT_SOCKET)
		send_socket(&call);
	return 0;
}

/* Everywhere: every system call's end. What is not wanted leaves after a few loads. */
SEC("tp_btf/sys_exit")
int sys_exit(__u64 *ctx)
{
	struct pt_regs *saved = (void *)ctx[0];
	__u32 class = class_of(REG_SYSCALL(saved), REG_IS_COMPAT(saved)) & sys_exit_wants;
	struct finished_call call;

	if (!class)
		return 0;
	bpf_probe_read_kernel(&call.regs, sizeof(call.regs), saved);
	decode_call(&call, ctx[1]);
	if (class == WANT_OPEN)
		send_open(&call);
	else if (class == WANT_SYNC)
		send_core_sync(&call);
	else
		send_socket(&call);
	return 0;
}

/* First choice: do_sys_openat2 serves open, openat, openat2 and creat, of 32-bit callers too (5.6). */
SEC("fexit/do_sys_openat2")
int open_fexit(__u64 *ctx) { return call_returned(WANT_OPEN, ctx[3]); }

/* A return probe has no arguments; the saved registers of the system call still do. */
SEC("kretprobe/do_sys_openat2")
int open_kretprobe(struct user_registers *ctx) { return call_returned(WANT_OPEN, REG_RESULT(ctx)); }

SEC("fexit/vfs_fsync_range")
int fsync_fexit(__u64 *ctx) { return call_returned(WANT_SYNC, (int)ctx[4]); }

SEC("fexit/sync_filesystem")
int syncfs_fexit(__u64 *ctx) { return call_returned(WANT_SYNC, (int)ctx[1]); }

SEC("fexit/ksys_sync")
int sync_fexit(__u64 *ctx) { return call_returned(WANT_SYNC, 0); }

SEC("kretprobe")
int sync_kretprobe(struct user_registers *ctx) { return call_returned(WANT_SYNC, (int)REG_RESULT(ctx)); }

SEC("fexit/__sys_connect")
int connect_fexit(__u64 *ctx) { return call_returned(WANT_SOCKET, (int)ctx[3]); }

SEC("fexit/__sys_bind")
int bind_fexit(__u64 *ctx) { return call_returned(WANT_SOCKET, (int)ctx[3]); }

SEC("fexit/__sys_listen")
int listen_fexit(__u64 *ctx) { return call_returned(WANT_SOCKET, (int)ctx[2]); }

SEC("kretprobe")
int socket_kretprobe(struct user_registers *ctx) { return call_returned(WANT_SOCKET, (int)REG_RESULT(ctx)); }

/* ---- perf events: faults and samples ---- */

SEC("perf_event")
int fault(struct perf_context *ctx)
{
	struct user_registers regs;

	send_fault(ctx, read_registers(&regs) ? &regs : 0);
	return 0;
}

SEC("perf_event")
int sample(struct perf_context *ctx)
{
	struct user_registers regs;

	if ((__u32)bpf_get_current_pid_tgid())
		send_sample(ctx, read_registers(&regs) ? &regs : 0);
	return 0;
}

/* ---- cpufreq ---- */

SEC("tp_btf/cpu_frequency")
int cpufreq(__u64 *ctx)
{
	send_cpufreq(ctx[0], ctx[1]);
	return 0;
}

/* ---- cgroup ---- */

static __always_inline void send_cgroup(__u32 kind, struct cgroup *cgroup, const char *path, task_id target,
					__u32 whole_process)
{
	struct scratch *scratch = take_scratch(PROBE_CGROUP);
	struct event_cgroup_attach *event;
	long len;

	if (!scratch)
		return;
	event = (void *)scratch->event;
	fill_header(&event->header, kind, 0);
	event->cgroup = BPF_CORE_READ(cgroup, kn, id);
	if (kind == KIND_CGROUP) {
		struct event_cgroup *made = (void *)event;

		made->hierarchy = BPF_CORE_READ(cgroup, root, hierarchy_id);
		made->reserved = 0;
		len = bpf_probe_read_kernel_str(TAIL_OF(scratch, struct event_cgroup), TAIL_MAX, path);
		emit_with_tail(PROBE_CGROUP, scratch, sizeof(struct event_cgroup), len > 0 ? len - 1 : 0);
	} else {
		event->target = target;
		event->whole_process = whole_process;
		event->hierarchy = BPF_CORE_READ(cgroup, root, hierarchy_id);
		event->reserved = 0;
		emit(PROBE_CGROUP, event, sizeof(*event));
	}
	release_scratch(scratch);
}

SEC("tp_btf/cgroup_mkdir")
int cgroup_made(__u64 *ctx)
{
	send_cgroup(KIND_CGROUP, (void *)ctx[0], (void *)ctx[1], 0, 0);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int cgroup_attach(__u64 *ctx)
{
	struct task_struct *leader = (void *)ctx[2];

	send_cgroup(KIND_CGROUP_ATTACH, (void *)ctx[0], 0, leader->pid, ctx[3] & 1);
	return 0;
}

/* ---- page cache ---- */

static __always_inline void find_caller(struct page_caller *caller)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct user_registers regs;
	int nr;

	caller->syscall = NO_SYSCALL;
	caller->flags = 0;
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) {
		caller->flags = READ_KERNEL_THREAD;
		return;
	}
	if (!read_registers(&regs)) {
		caller->flags = READ_CALLER_UNKNOWN;
		return;
	}
	nr = REG_SYSCALL(&regs);
	if (nr >= 0 && nr < NO_SYSCALL) { /* else it is a fault */
		caller->syscall = nr;
		caller->flags = REG_IS_COMPAT(&regs) ? READ_COMPAT : 0;
	}
}

SEC("tracepoint/filemap/mm_filemap_add_to_page_cache")
int page_added(void *ctx)
{
	struct page_caller caller;

	find_caller(&caller);
	pages_came(ctx, &caller);
	return LEAVE_TO_OTHERS;
}

/*
 * Pages leave the cache by reclaim, on demand, or since their file was cut or removed. The last is
 * no eviction: the inode's number may come back as another file.
 */
SEC("tracepoint/filemap/mm_filemap_delete_from_page_cache")
int page_deleted(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	int by_reclaim = (BPF_CORE_READ(task, flags) & PF_MEMALLOC) != 0;
	struct page_caller caller;
	struct pages pages;

	if (!by_reclaim) {
		find_caller(&caller);
		if (caller.syscall != NR_WRITE /* to drop_caches */ && caller.syscall != NR_FADVISE64)
			return LEAVE_TO_OTHERS;
	}
	read_pages(&pages, ctx);
	note_evicted(&pages, !by_reclaim);
	return LEAVE_TO_OTHERS;
}

/* ---- reclaim ---- */

static __always_inline void send_reclaim(enum reclaim_phase phase, enum reclaim_kind kind, __u64 pages)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *css = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = 0;
	struct event_reclaim event = {};
	struct cgroup *cgroup;

	bpf_probe_read_kernel(&state, sizeof(state), (void *)css + bpf_core_field_offset(struct css_set, subsys) +
							     memory * sizeof(state));
	cgroup = BPF_CORE_READ(state, cgroup);
	fill_header(&event.header, KIND_RECLAIM, 0);
	event.cgroup = BPF_CORE_READ(cgroup, kn, id);
	event.hierarchy = BPF_CORE_READ(cgroup, root, hierarchy_id);
	event.pages = pages;
	event.phase = phase;
	event.kind = kind;
	emit(PROBE_RECLAIM, &event, sizeof(event));
}

SEC("tracepoint/vmscan/mm_vmscan_memcg_reclaim_begin")
int memcg_reclaim_begin(void *ctx)
{
	send_reclaim(RECLAIM_BEGIN, RECLAIM_MEMCG, 0);
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/vmscan/mm_vmscan_memcg_reclaim_end")
int memcg_reclaim_end(void *ctx)
{
	send_reclaim(RECLAIM_END, RECLAIM_MEMCG, FIELD(__u64, ctx, offsets.reclaim_pages));
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_begin")
int direct_reclaim_begin(void *ctx)
{
	send_reclaim(RECLAIM_BEGIN, RECLAIM_GLOBAL, 0);
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_end")
int direct_reclaim_end(void *ctx)
{
	send_reclaim(RECLAIM_END, RECLAIM_GLOBAL, FIELD(__u64, ctx, offsets.reclaim_pages));
	return LEAVE_TO_OTHERS;
}

/* ---- interrupts ---- */

SEC("tp_btf/irq_handler_entry")
int irq_entry(__u64 *ctx) { return irq_enter(WAKER_IRQ, ctx[0]); }

SEC("tp_btf/irq_handler_exit")
int irq_exit(__u64 *ctx) { return irq_leave(WAKER_IRQ); }

SEC("tp_btf/softirq_entry")
int softirq_entry(__u64 *ctx) { return irq_enter(WAKER_SOFTIRQ, ctx[0]); }

SEC("tp_btf/softirq_exit")
int softirq_exit(__u64 *ctx) { return irq_leave(WAKER_SOFTIRQ); }

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_entry(__u64 *ctx) { return irq_enter(WAKER_TIMER, 0); }

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_exit(__u64 *ctx) { return irq_leave(WAKER_TIMER); }

SEC("tp_btf/timer_expire_entry")
int timer_entry(__u64 *ctx) { return irq_enter(WAKER_TIMER_WHEEL, 0); }

SEC("tp_btf/timer_expire_exit")
int timer_exit(__u64 *ctx) { return irq_leave(WAKER_TIMER_WHEEL); }

//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * plain.bpf.c: the programs for kernels without BTF. There are no relocations in it: fields come
 * from the tracepoints, at the offsets that tracefs gives, and from the saved user registers,
 * whose layout is ABI. What this can't see (I/O wait, the system call that a task sleeps in,
 * absolute paths, counters at exit) is left out, never guessed.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "events.h"
#include "registers.h"
#include "config.h"
#include "maps.h"
#include "sched.h"
#include "scratch.h"
#include "syscalls.h"
#include "open.h"
#include "perf.h"
#include "pagecache.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* include/trace/events/sched.h: what the tracepoint makes of the state. */
#define PRINTED_STATES 0xff
#define PRINTED_SLEEPING 0x01
#define PRINTED_BLOCKED 0x02
#define PRINTED_STOPPED (0x04 | 0x08 | 0x40)
#define PRINTED_DEAD (0x10 | 0x20)
#define PRINTED_IDLE 0x80
#define PRINTED_PREEMPTED 0x100

static __always_inline __u32 state_of(long printed)
{
	if (printed & PRINTED_PREEMPTED)
		return STATE_PREEMPTED;
	if (printed & PRINTED_DEAD)
		return STATE_DEAD;
	if (printed & PRINTED_STOPPED)
		return STATE_STOPPED;
	if (printed & PRINTED_IDLE)
		return STATE_IDLE;
	if (printed & PRINTED_BLOCKED)
		return STATE_BLOCKED;
	if (printed & PRINTED_SLEEPING)
		return STATE_SLEEPING;
	return STATE_YIELDED;
}

SEC("tracepoint/sched/sched_switch")
int sched_switch(void *ctx)
{
	long printed = FIELD(long, ctx, offsets.switch_prev_state);

	sched_event(WORD_SWITCH, FIELD(__u32, ctx, offsets.switch_next_pid), state_of(printed), WORD_NO_SYSCALL,
		    FIELD(__u32, ctx, offsets.switch_prev_pid), 0);
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/sched/sched_waking")
int sched_waking(void *ctx)
{
	sched_event(WORD_WAKING, FIELD(__u32, ctx, offsets.waking_pid), 0, WORD_NO_SYSCALL,
		    (__u32)bpf_get_current_pid_tgid(), 0);
	return LEAVE_TO_OTHERS;
}

/* include/uapi/linux/sched.h */
#define CLONE_THREAD 0x00010000

/* Unlike sched_process_fork, this tracepoint tells a thread from a process. */
SEC("tracepoint/task/task_newtask")
int process_fork(void *ctx)
{
	__u32 flags = FIELD(__u32, ctx, offsets.fork_flags); /* the low half */
	struct event_fork event = {};

	fill_header(&event.header, KIND_FORK, 0);
	event.child_tid = FIELD(__u32, ctx, offsets.fork_child);
	event.child_pid = flags & CLONE_THREAD ? event.header.pid : event.child_tid;
	emit(PROBE_PROCESS, &event, sizeof(event));
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/sched/sched_process_exec")
int process_exec(void *ctx)
{
	struct scratch *scratch = take_scratch(PROBE_PROCESS);
	/* __data_loc: the offset in the low half, the length in the high one */
	__u32 loc = FIELD(__u32, ctx, offsets.exec_filename_loc);
	struct event_exec *event;
	long len;

	if (!scratch)
		return LEAVE_TO_OTHERS;
	event = (void *)scratch->event;
	__builtin_memset(event, 0, sizeof(*event));
	fill_header(&event->header, KIND_EXEC, 0);
	event->cgroup = bpf_get_current_cgroup_id();
	event->old_tid = FIELD(__u32, ctx, offsets.exec_old_pid);
	len = bpf_probe_read_kernel_str(TAIL_OF(scratch, struct event_exec), TAIL_MAX, ctx + (loc & 0xffff));
	emit_with_tail(PROBE_PROCESS, scratch, sizeof(struct event_exec), len > 0 ? len - 1 : 0);
	release_scratch(scratch);
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/sched/sched_process_exit")
int process_exit(void *ctx)
{
	struct event_exit event = {};

	fill_header(&event.header, KIND_EXIT, 0);
	emit(PROBE_PROCESS, &event, sizeof(event));
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/task/task_rename")
int process_rename(void *ctx)
{
	struct event_rename event = {};

	fill_header(&event.header, KIND_RENAME, 0);
	event.target = FIELD(__u32, ctx, offsets.rename_pid);
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), ctx + offsets.rename_comm);
	emit(PROBE_PROCESS, &event, sizeof(event));
	return LEAVE_TO_OTHERS;
}

/*
 * The arguments of an exec that has just returned: the new program's stack pointer is at argc, then
 * come the argv pointers, a null, the environment's. The strings follow one another in memory.
 */
static __always_inline void send_args(struct user_registers *regs, int compat)
{
	__u64 sp = REG_SP(regs), word = compat ? 4 : 8;
	__u64 argc = 0, start = 0, end = 0, len;
	struct scratch *scratch;
	struct event_args *event;

	bpf_probe_read_user(&argc, word, (void *)sp);
	if (!argc)
		return;
	bpf_probe_read_user(&start, word, (void *)(sp + word));
	bpf_probe_read_user(&end, word, (void *)(sp + word * (argc + 2)));
	scratch = take_scratch(PROBE_PROCESS);
	if (!scratch)
		return;
	event = (void *)scratch->event;
	fill_header(&event->header, KIND_ARGS, 0);
	if (end <= start) { /* no environment: the last argument is as far as can be known */
		bpf_probe_read_user(&end, word, (void *)(sp + word * argc));
		len = bpf_probe_read_user_str(TAIL_OF(scratch, struct event_args), TAIL_MAX, (void *)end);
		end += len <= TAIL_MAX ? len : 0;
	}
	event->total = end > start ? end - start : 0;
	len = event->total;
	if (len > TAIL_MAX)
		len = TAIL_MAX;
	if (bpf_probe_read_user(TAIL_OF(scratch, struct event_args), len, (void *)start) != 0)
		len = 0;
	emit_with_tail(PROBE_PROCESS, scratch, sizeof(struct event_args), len);
	release_scratch(scratch);
}

static __always_inline void send_plain_open(struct finished_call *call)
{
	struct open_call open = {};

	read_open_call(&open, call);
	send_open_by_name(&open, 0);
}

/* Every system call's end. */
SEC("raw_tp/sys_exit")
int sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct finished_call call;
	__u32 class;

	if (copy_registers(&call.regs, (void *)ctx->args[0]) != 0)
		return 0;
	decode_call(&call, ctx->args[1]);
	class = class_of(call.nr, call.compat) & sys_exit_wants;
	if (class == WANT_OPEN)
		send_plain_open(&call);
	else if (class == WANT_SYNC)
		send_sync(&call, sync_descriptor(&call), 0);
	else if (class == WANT_SOCKET)
		send_socket(&call);
	else if (class == WANT_ARGS && want_args && call.result == 0)
		send_args(&call.regs, call.compat);
	return 0;
}

SEC("perf_event")
int fault(struct perf_context *ctx)
{
	send_fault(ctx, 0);
	return 0;
}

SEC("perf_event")
int sample(struct perf_context *ctx)
{
	if ((__u32)bpf_get_current_pid_tgid())
		send_sample(ctx, 0);
	return 0;
}

SEC("tracepoint/power/cpu_frequency")
int cpufreq(void *ctx)
{
	send_cpufreq(FIELD(__u32, ctx, offsets.cpufreq_state), FIELD(__u32, ctx, offsets.cpufreq_cpu));
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/filemap/mm_filemap_add_to_page_cache")
int page_added(void *ctx)
{
	struct page_caller caller = { NO_SYSCALL, READ_CALLER_UNKNOWN };

	pages_came(ctx, &caller);
	return LEAVE_TO_OTHERS;
}

/* Who evicts isn't known here, so a file that was cut and written anew counts as read again. */
SEC("tracepoint/filemap/mm_filemap_delete_from_page_cache")
int page_deleted(void *ctx)
{
	struct block_walk walk = {};
	struct pages pages;

	read_pages(&pages, ctx);
	begin_blocks(&walk, &pages);
	EACH_BLOCK(note_evicted, &walk);
	return LEAVE_TO_OTHERS;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_process.h: programs on fork, exec, exit, renames and cgroups (CO-RE only). */
#ifndef BOOTSCOPE_CORE_PROCESS_H
#define BOOTSCOPE_CORE_PROCESS_H

static __always_inline cgroup_id cgroup_of(struct task_struct *task)
{
	return LOAD(LOAD(LOAD(LOAD(task, cgroups), dfl_cgrp), kn), id);
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
	unsigned long start = LOAD(LOAD(task, mm), arg_start);
	unsigned long end = LOAD(LOAD(task, mm), arg_end);
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

	file_path(LOAD(bprm, file), &path);
	exe = name_path(&path, PROBE_PROCESS);
	scratch = take_scratch(PROBE_PROCESS);
	if (!scratch)
		return 0;
	event = (void *)scratch->event;
	fill_header(&event->header, KIND_EXEC, 0);
	event->exe = exe;
	event->cgroup = cgroup_of(task);
	event->old_tid = ctx[1];
	event->mount_ns = mount_ns_of(task);
	len = bpf_probe_read_kernel_str(TAIL_OF(scratch, struct event_exec), TAIL_MAX, LOAD(bprm, filename));
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
	event->cgroup = LOAD(LOAD(cgroup, kn), id);
	if (kind == KIND_CGROUP) {
		struct event_cgroup *made = (void *)event;

		made->hierarchy = LOAD(LOAD(cgroup, root), hierarchy_id);
		made->reserved = 0;
		len = bpf_probe_read_kernel_str(TAIL_OF(scratch, struct event_cgroup), TAIL_MAX, path);
		emit_with_tail(PROBE_CGROUP, scratch, sizeof(struct event_cgroup), len > 0 ? len - 1 : 0);
	} else {
		event->target = target;
		event->whole_process = whole_process;
		event->hierarchy = LOAD(LOAD(cgroup, root), hierarchy_id);
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

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_tasks.h: every task of the machine, when the recorder asks for them (CO-RE only). */
#ifndef BOOTSCOPE_CORE_TASKS_H
#define BOOTSCOPE_CORE_TASKS_H

/* The letter of /proc/PID/stat: fs/proc/array.c tells by the highest bit that is set. */
static __always_inline char state_letter(struct task_struct *task)
{
	unsigned int bits = task_state_bits(task);

	if ((bits & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == (TASK_UNINTERRUPTIBLE | TASK_NOLOAD))
		return 'I';
	bits |= task->exit_state;
	if (bits & TASK_PARKED)
		return 'P';
	if (bits & EXIT_ZOMBIE)
		return 'Z';
	if (bits & EXIT_DEAD)
		return 'X';
	if (bits & TASK_TRACED)
		return 't';
	if (bits & TASK_STOPPED)
		return 'T';
	if (bits & TASK_UNINTERRUPTIBLE)
		return 'D';
	return bits & TASK_INTERRUPTIBLE ? 'S' : 'R';
}

/*
 * An iterator (5.8): called for each thread while the recorder reads from it, which gives it the events. The
 * recorder adds the phase and the tail.
 */
SEC("iter/task")
int read_tasks(__u64 *ctx)
{
	struct bpf_iter_meta *meta = (void *)ctx[0];
	struct task_struct *task = (void *)ctx[1];
	struct event_task event = {};

	if (!task)
		return 0;
	event.header.time = bpf_ktime_get_boot_ns();
	event.header.tid = task->pid;
	event.header.pid = task->tgid;
	event.header.kind = KIND_TASK;
	event.start = task->start_boottime;
	event.cpu_time = task->se.sum_exec_runtime;
	event.minor_faults = task->min_flt;
	event.major_faults = task->maj_flt;
	event.cgroup = cgroup_of(task);
	event.parent = LOAD(LOAD(task, real_parent), tgid);
	event.state = state_letter(task);
	event.kernel_thread = (task->flags & PF_KTHREAD) != 0;
	bpf_core_read_str(event.comm, sizeof(event.comm), &task->comm);
	if (bpf_core_field_exists(task->ioac.read_bytes)) { /* CONFIG_TASK_IO_ACCOUNTING */
		event.has_storage = 1;
		event.read_bytes = task->ioac.read_bytes;
		event.written_bytes = task->ioac.write_bytes;
	}
	bpf_seq_write(meta->seq, &event, sizeof(event));
	return 0;
}

#endif

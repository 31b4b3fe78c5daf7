/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_sched.h: programs on switches and wake-ups (CO-RE only). */
#ifndef BOOTSCOPE_CORE_SCHED_H
#define BOOTSCOPE_CORE_SCHED_H

static __always_inline __u32 state_of(struct task_struct *task, int preempted, unsigned int bits)
{
	if (preempted)
		return STATE_PREEMPTED;
	if (bits & (TASK_DEAD | EXIT_DEAD | EXIT_ZOMBIE))
		return STATE_DEAD;
	if (bits & (TASK_STOPPED | TASK_TRACED | TASK_PARKED))
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
		struct pt_regs *regs = saved_registers(task);

		nr = REG_SYSCALL(regs);
		*compat = REG_IS_COMPAT(regs);
	} else {
		struct user_registers regs;

		if (copy_registers(&regs, registers_of(task)) == 0) {
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

#endif

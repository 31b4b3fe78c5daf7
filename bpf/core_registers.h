/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_registers.h: a task's saved user registers (CO-RE only). */
#ifndef BOOTSCOPE_CORE_REGISTERS_H
#define BOOTSCOPE_CORE_REGISTERS_H

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
	return copy_registers(regs, saved) == 0;
}

#endif

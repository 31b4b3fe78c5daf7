/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_registers.h: a task's saved user registers (CO-RE only). */
#ifndef BOOTSCOPE_CORE_REGISTERS_H
#define BOOTSCOPE_CORE_REGISTERS_H

/* Where a task's user registers are, for kernels without bpf_task_pt_regs. */
static __always_inline void *registers_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, stack) + thread_size - bpf_core_type_size(struct pt_regs);
}

/* Where the saved registers are in every task's kernel stack, once it is known. */
__u64 registers_offset;

/* A field as a number, whatever it is: newer verifiers add nothing to what they know as a pointer, be it to void. */
static __always_inline __u64 number_at(const void *field)
{
	return ((struct timespec64 *)bpf_rdonly_cast(field, bpf_core_type_id_kernel(struct timespec64)))->tv_sec;
}

/*
 * The saved user registers of a task that has a type. A cast takes no call, and the kernel's helper takes one: 11 of the
 * 139 ns of a switch. So the helper is only asked where they are, once.
 */
static __always_inline struct pt_regs *saved_registers(struct task_struct *task)
{
	struct pt_regs *regs;
	__u64 address = 0;

	if (!has_rdonly_cast)
		return (void *)bpf_task_pt_regs(task);
	if (!registers_offset) {
		regs = (void *)bpf_task_pt_regs(task);
		bpf_probe_read_kernel(&address, sizeof(address), &regs); /* as a number, too */
		registers_offset = address - number_at(&task->stack);
	}
	return bpf_rdonly_cast((void *)(number_at(&task->stack) + registers_offset), bpf_core_type_id_kernel(struct pt_regs));
}

/* Copies the current task's user registers, if it has any: a kernel thread's would read as system call 0. */
static __always_inline int read_registers(struct user_registers *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	void *saved;

	if (LOAD(task, flags) & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	if (has_task_pt_regs)
		saved = saved_registers((void *)bpf_get_current_task_btf());
	else
		saved = registers_of(task);
	return copy_registers(regs, saved) == 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * core_fixes.h: fields that the kernel renamed, each with the version that did it. A "___flavor"
 * names the same kernel struct in another version (CO-RE ignores what follows three underscores).
 */
#ifndef BOOTSCOPE_CORE_FIXES_H
#define BOOTSCOPE_CORE_FIXES_H

/* 5.14, 2f064a59a11f ("sched: Change task_struct::state"): state became __state, and 32 bits. */
struct task_struct___new_state {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct task_struct___old_state {
	long state;
} __attribute__((preserve_access_index));

static __always_inline unsigned int task_state_bits(struct task_struct *task)
{
	struct task_struct___new_state *now = (void *)task;
	struct task_struct___old_state *before = (void *)task;

	if (bpf_core_field_exists(now->__state))
		return now->__state;
	return before->state;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* config.h: what the loader tells the programs before they are loaded. */
#ifndef BOOTSCOPE_CONFIG_H
#define BOOTSCOPE_CONFIG_H

/* In .rodata, so that the verifier drops the branches that are not taken. */
const volatile __u32 want_args = 1;         /* 0: argv stays out of the trace */
const volatile __u32 wake_reader_at = 1 << 20; /* bytes in the ring buffer that wake the reader */
const volatile __u32 signal_from_sched = 1; /* 0 on PREEMPT_RT before 6.12, see sched.h */

const volatile __u32 has_loop;              /* bpf_loop, 5.17 */

/* CO-RE object only. */
const volatile __u32 tell_wakers;           /* a waking says which interrupt it came from, see irq.h */
const volatile __u32 has_task_pt_regs;      /* bpf_task_pt_regs, 5.15: there the task has a type */
const volatile __u32 has_rdonly_cast;       /* bpf_rdonly_cast, 6.2 */
const volatile __u32 switch_state_arg;      /* the index of prev_state in sched_switch's arguments, 0 is none */
const volatile __u32 thread_size = 16384;   /* size of a kernel stack, where the helper is missing */

/* Where tracefs says the fields of tracepoints are. 0 is a field that this kernel doesn't have. */
struct tracepoint_offsets {
	__u32 switch_prev_pid, switch_prev_state, switch_next_pid;
	__u32 waking_pid;
	__u32 fork_child, fork_flags;
	__u32 exec_filename_loc, exec_old_pid;
	__u32 rename_pid, rename_comm;
	__u32 cpufreq_state, cpufreq_cpu;
	__u32 page_inode, page_index, page_device, page_order;
	__u32 reclaim_pages;
};
const volatile struct tracepoint_offsets offsets;

#endif

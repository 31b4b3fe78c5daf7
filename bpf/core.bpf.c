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
#include "config.h"
#include "kernel.h"
#include "core_fixes.h"
#include "maps.h"
#include "sched.h"
#include "irq.h"
#include "scratch.h"
#include "file.h"
#include "syscalls.h"
#include "open.h"
#include "perf.h"
#include "pagecache.h"
#include "core_registers.h"
#include "core_sched.h"
#include "core_process.h"
#include "core_syscalls.h"
#include "core_memory.h"
#include "core_irq.h"
#include "core_tasks.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

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

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* perf.h: the rare events whose sending is the same in both objects: faults, samples, frequencies. */
#ifndef BOOTSCOPE_PERF_H
#define BOOTSCOPE_PERF_H

/*
 * The interrupted registers. Volatile, since the compiler would else load from a pointer that may
 * be the context or the saved registers, and the verifier refuses a context that was computed.
 */
struct interrupted {
	__u64 ip, sp;
	int in_kernel;
};

static __always_inline struct interrupted read_context(volatile struct perf_context *ctx)
{
	struct interrupted at = {
		.ip = REG_IP(&ctx->regs),
		.sp = REG_SP(&ctx->regs),
		.in_kernel = REG_FROM_KERNEL(&ctx->regs),
	};

	return at;
}

/* saved: the user registers, where the task has any and they can be found; else 0. */
static __always_inline void send_fault(struct perf_context *ctx, struct user_registers *saved)
{
	struct interrupted at = read_context(ctx);
	struct event_fault event = {};

	fill_header(&event.header, KIND_FAULT, 0);
	event.addr = ctx->addr;
	event.ip = at.ip;
	if (!at.in_kernel)
		event.user_sp = at.sp;
	else if (saved)
		event.user_sp = REG_SP(saved);
	emit(PROBE_FAULT, &event, sizeof(event));
}

static __always_inline void send_sample(struct perf_context *ctx, struct user_registers *saved)
{
	struct interrupted at = read_context(ctx);
	struct event_sample event = {};

	fill_header(&event.header, KIND_SAMPLE, 0);
	event.ip = at.ip;
	if (!at.in_kernel) {
		event.user_ip = at.ip;
		event.user_sp = at.sp;
	} else if (saved) {
		event.flags = SAMPLE_KERNEL;
		event.user_ip = REG_IP(saved);
		event.user_sp = REG_SP(saved);
	} else {
		event.flags = SAMPLE_KERNEL | SAMPLE_NO_USER;
	}
	emit(PROBE_SAMPLE, &event, sizeof(event));
}

static __always_inline void send_cpufreq(__u32 frequency, __u32 cpu)
{
	struct event_cpufreq event = {};

	fill_header(&event.header, KIND_CPUFREQ, 0);
	event.frequency = frequency;
	event.target_cpu = cpu;
	emit(PROBE_CPUFREQ, &event, sizeof(event));
}

#endif

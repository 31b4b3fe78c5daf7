/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * irq.h: which interrupt a CPU is working on, so that a wake-up can say what it came from, and how much
 * time each kind takes in all. Only for looking at an idle machine: there are too many on a busy one.
 */
#ifndef BOOTSCOPE_IRQ_H
#define BOOTSCOPE_IRQ_H

struct irq_work {
	__u64 since;  /* 0: not in it */
	__u32 number;
	__u32 reserved;
};

/* By enum waker. A hard interrupt can come into a soft one, so each kind has a place of its own. */
struct irq_context {
	struct irq_work kinds[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irq_context);
} irq_contexts SEC(".maps");

struct irq_key {
	__u16 by;
	__u16 number;
};

struct irq_total {
	__u64 count;
	__u64 time;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct irq_key);
	__type(value, struct irq_total);
} irq_totals SEC(".maps");

static __always_inline struct irq_context *irq_context(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&irq_contexts, &zero);
}

static __always_inline int irq_enter(enum waker kind, __u32 number)
{
	struct irq_context *context = irq_context();

	if (context) {
		context->kinds[kind].number = number;
		context->kinds[kind].since = bpf_ktime_get_boot_ns();
	}
	return 0;
}

static __always_inline int irq_leave(enum waker kind)
{
	struct irq_context *context = irq_context();
	struct irq_total *total, first;
	struct irq_key key;
	__u64 took;

	if (!context || !context->kinds[kind].since)
		return 0;
	took = bpf_ktime_get_boot_ns() - context->kinds[kind].since;
	context->kinds[kind].since = 0;
	key.by = kind;
	key.number = context->kinds[kind].number;
	total = bpf_map_lookup_elem(&irq_totals, &key);
	if (total) {
		total->count++;
		total->time += took;
		return 0;
	}
	first.count = 1;
	first.time = took;
	if (bpf_map_update_elem(&irq_totals, &key, &first, BPF_ANY))
		count_lost(PROBE_IRQ, LOST_FULL);
	return 0;
}

/* The innermost work of this CPU: a timer is called from an interrupt, a hard one comes into a soft one. */
static __always_inline __u32 current_waker(void)
{
	struct irq_context *context = irq_context();

	if (!context)
		return WAKER_TASK;
	if (context->kinds[WAKER_TIMER].since)
		return WAKER_TIMER;
	if (context->kinds[WAKER_IRQ].since)
		return WAKER_IRQ | context->kinds[WAKER_IRQ].number << 16;
	if (context->kinds[WAKER_TIMER_WHEEL].since)
		return WAKER_TIMER_WHEEL;
	if (context->kinds[WAKER_SOFTIRQ].since)
		return WAKER_SOFTIRQ | context->kinds[WAKER_SOFTIRQ].number << 16;
	return WAKER_TASK;
}

#endif

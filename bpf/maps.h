/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* maps.h: the maps of both objects, and the helpers that every program uses. */
#ifndef BOOTSCOPE_MAPS_H
#define BOOTSCOPE_MAPS_H

/*
 * What programs on tracepoints return. With 0 the kernel would hide the event from everybody else who
 * counts or records it by way of perf.
 */
#define LEAVE_TO_OTHERS 1

/* Everything but sched events. The loader sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
	__type(value, union event);
} events SEC(".maps");

/* Lost events, by probe and reason (LOST_FULL, LOST_NESTED). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROBE_COUNT * 2);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

/*
 * Calls step(index, context) up to times times, until it returns other than 0. The verifier follows
 * bpf_loop() through a step or two, and a plain loop through each turn: with plain loops all programs
 * together take it 57,000 instructions, with bpf_loop 8,500. Where has_loop is 0 the loader takes the
 * function's address out, which such kernels don't know.
 */
#define REPEAT(times, step, context)                                                               \
	do {                                                                                       \
		if (has_loop) {                                                                    \
			bpf_loop(times, step, context, 0);                                         \
			break;                                                                     \
		}                                                                                  \
		_Pragma("clang loop unroll(disable)") for (__u32 i = 0; i < (times); i++)          \
		{                                                                                  \
			if (step(i, context))                                                      \
				break;                                                             \
		}                                                                                  \
	} while (0)

/* Set when the reader was woken, cleared by the reader: one wake-up per drain, not per event. */
__u32 reader_woken;

static __always_inline void count_lost(enum probe_id probe, enum lost_reason reason)
{
	__u32 key = probe * 2 + reason;
	__u64 *count = bpf_map_lookup_elem(&losses, &key);

	if (count)
		(*count)++;
}

static __always_inline void fill_header(struct event_header *header, enum event_kind kind, __u32 tail)
{
	__u64 id = bpf_get_current_pid_tgid();

	header->time = bpf_ktime_get_boot_ns();
	header->tid = (__u32)id;
	header->pid = id >> 32;
	header->kind = kind;
	header->cpu = bpf_get_smp_processor_id();
	header->tail = tail;
}

/* Hands an event to the reader. Returns 0, or counts it as lost. */
static __always_inline long emit(enum probe_id probe, void *event, __u64 size)
{
	__u64 flags = BPF_RB_NO_WAKEUP;
	long err;

	if (!reader_woken && bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= wake_reader_at) {
		reader_woken = 1;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	err = bpf_ringbuf_output(&events, event, size, flags);
	if (err)
		count_lost(probe, LOST_FULL);
	return err;
}

#endif

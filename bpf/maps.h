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

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * scratch.h: room to put together an event with a tail, one per CPU. Programs that are preempted
 * or interrupted could meet on it, so it is taken and released; who finds it taken counts a loss.
 */
#ifndef BOOTSCOPE_SCRATCH_H
#define BOOTSCOPE_SCRATCH_H

#define TAIL_MAX 4096
#define NAME_MAX_BYTES 255

struct scratch {
	__u32 busy;
	__u32 used; /* bytes of tail */
	/* Of a walk along a path: here, since the stack has no room for it. */
	__u64 dentry;
	__u64 mount;
	__u64 root; /* of that mount */
	__u64 path_flags;
	__u64 entry[4]; /* struct entry of file.h */
	/* The fixed part is copied to just before the tail. The slack lets masked offsets pass the verifier. */
	__u8 event[256 + TAIL_MAX + NAME_MAX_BYTES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *take_scratch(enum probe_id probe)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);

	if (!scratch)
		return 0;
	if (scratch->busy) {
		count_lost(probe, LOST_NESTED);
		return 0;
	}
	scratch->busy = 1;
	return scratch;
}

static __always_inline void release_scratch(struct scratch *scratch)
{
	*(volatile __u32 *)&scratch->busy = 0;
}

/* Where the tail of an event with this fixed part begins. */
#define TAIL_OF(scratch, type) (&(scratch)->event[sizeof(type)])

/* Emits the event whose fixed part and tail are in scratch. */
static __always_inline long emit_with_tail(enum probe_id probe, struct scratch *scratch, __u32 fixed, __u64 tail)
{
	if (tail > TAIL_MAX)
		tail = TAIL_MAX;
	((struct event_header *)scratch->event)->tail = tail;
	return emit(probe, scratch->event, fixed + tail);
}

#endif

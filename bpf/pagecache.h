/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pagecache.h: which pages of which files were read from storage, and read again after reclaim had
 * evicted them. It takes the fields of the filemap tracepoints from where tracefs says they are,
 * since the structs behind them changed with folios (5.16).
 *
 * Readahead brings pages in runs, so each CPU collects a run and sends it when another begins; the
 * recorder fetches the last ones at the end.
 */
#ifndef BOOTSCOPE_PAGECACHE_H
#define BOOTSCOPE_PAGECACHE_H

/* A field of the tracepoint's record, at an offset that is a constant once loaded. */
#define FIELD(type, ctx, offset)                                                                   \
	({                                                                                         \
		type value = 0;                                                                    \
		bpf_probe_read_kernel(&value, sizeof(value), (void *)(ctx) + (offset));            \
		value;                                                                             \
	})

struct read_run {
	__u32 busy;
	__u32 reserved;
	struct event_read event; /* no pages: none is being collected */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct read_run);
} read_runs SEC(".maps");

/* 64 pages of a file. */
struct page_block {
	inode_number inode;
	__u64 block;
	device_number device;
	__u32 reserved;
};

/* Which of them were evicted, and how, since they were last brought in: a bit for each. */
struct evicted_pages {
	__u64 by_reclaim;
	__u64 on_demand;
};

#define EVICTED_BLOCKS 16384 /* of 64 pages: 4 GiB of files, if they were evicted as a whole */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, EVICTED_BLOCKS);
	__type(key, struct page_block);
	__type(value, struct evicted_pages);
} evicted SEC(".maps");

/* How many blocks were ever put in. From EVICTED_BLOCKS on each makes the map forget an older one. */
__u64 evicted_blocks;

struct pages {
	inode_number inode;
	__u64 index;
	device_number device;
	__u32 count;
};

static __always_inline void read_pages(struct pages *pages, void *ctx)
{
	pages->inode = FIELD(__u64, ctx, offsets.page_inode);
	pages->index = FIELD(__u64, ctx, offsets.page_index);
	pages->device = FIELD(__u32, ctx, offsets.page_device);
	pages->count = 1;
	if (offsets.page_order) {
		__u32 order = FIELD(__u8, ctx, offsets.page_order);

		pages->count = 1 << (order & 15);
	}
}

/* The bits of pages in their block. A folio is aligned to its size: it has its blocks to itself, or one in part. */
static __always_inline __u64 block_bits(struct pages *pages)
{
	if (pages->count >= 64)
		return ~0ULL;
	return ((1ULL << pages->count) - 1) << (pages->index & 63);
}

static __always_inline int count_bits(__u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555ULL;
	bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return bits * 0x0101010101010101ULL >> 56;
}

#define BLOCKS_MAX 32 /* a folio of 2,048 pages: 8 MiB */

/* A look at the blocks that pages are in. */
struct block_walk {
	struct pages *pages;
	struct event_read *event; /* of pages that came */
	__u64 bits;
	__u32 blocks;
	__u32 on_demand; /* of pages that went */
};

static __always_inline void begin_blocks(struct block_walk *walk, struct pages *pages)
{
	walk->pages = pages;
	walk->bits = block_bits(pages);
	walk->blocks = (pages->count + 63) / 64;
}

/* Nearly always it is one. */
#define EACH_BLOCK(step, walk)                                                                     \
	do {                                                                                       \
		if ((walk)->blocks == 1)                                                           \
			step(0, walk);                                                             \
		else                                                                               \
			REPEAT(BLOCKS_MAX, step, walk);                                            \
	} while (0)

static __always_inline struct page_block block_key(struct block_walk *walk, __u32 index)
{
	struct pages *pages = walk->pages;

	return (struct page_block){ pages->inode, pages->index / 64 + index, pages->device, 0 };
}

static __noinline long note_evicted(__u32 index, struct block_walk *walk)
{
	struct page_block key = block_key(walk, index);
	struct evicted_pages *known = bpf_map_lookup_elem(&evicted, &key);
	__u64 bits = walk->bits;
	struct evicted_pages first = {};

	if (!known) {
		if (walk->on_demand)
			first.on_demand = bits;
		else
			first.by_reclaim = bits;
		/* Forgotten blocks would be read again unnoticed: that must be known. */
		if (bpf_map_update_elem(&evicted, &key, &first, BPF_ANY) || evicted_blocks >= EVICTED_BLOCKS)
			count_lost(PROBE_READ, LOST_FULL);
		__sync_fetch_and_add(&evicted_blocks, 1);
	} else if (walk->on_demand) {
		known->on_demand |= bits;
	} else {
		known->by_reclaim |= bits;
	}
	return index + 1 >= walk->blocks;
}

static __noinline long count_again(__u32 index, struct block_walk *walk)
{
	struct page_block key = block_key(walk, index);
	struct evicted_pages *known = bpf_map_lookup_elem(&evicted, &key);
	struct event_read *event = walk->event;
	__u64 bits = walk->bits;

	if (known) {
		event->again += count_bits(known->by_reclaim & bits);
		event->dropped += count_bits(known->on_demand & ~known->by_reclaim & bits);
		known->by_reclaim &= ~bits;
		known->on_demand &= ~bits;
	}
	return index + 1 >= walk->blocks;
}

/* Who brings pages: the system call, or a page fault, of the current task. */
struct page_caller {
	__u32 syscall;
	__u32 flags;
};

static __always_inline void pages_came(void *ctx, struct page_caller *caller)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_boot_ns();
	__u32 zero = 0;
	struct read_run *run = bpf_map_lookup_elem(&read_runs, &zero);
	struct block_walk walk = {};
	struct event_read *event;
	struct pages pages;

	if (!run)
		return;
	if (run->busy) {
		count_lost(PROBE_READ, LOST_NESTED);
		return;
	}
	*(volatile __u32 *)&run->busy = 1;
	event = walk.event = &run->event;
	read_pages(&pages, ctx);
	if (!event->pages || event->index + event->pages != pages.index || event->inode != pages.inode ||
	    event->device != pages.device || event->header.tid != (__u32)id || event->syscall != caller->syscall) {
		if (event->pages) {
			event->header.time = now;
			emit(PROBE_READ, event, sizeof(*event));
		}
		fill_header(&event->header, KIND_READ, 0);
		event->start = now;
		event->inode = pages.inode;
		event->index = pages.index;
		event->device = pages.device;
		event->pages = 0;
		event->again = 0;
		event->dropped = 0;
		event->syscall = caller->syscall;
		event->flags = caller->flags;
	}
	event->last = now;
	event->pages += pages.count;
	begin_blocks(&walk, &pages);
	EACH_BLOCK(count_again, &walk);
	*(volatile __u32 *)&run->busy = 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_memory.h: programs on the page cache and on reclaim (CO-RE only). */
#ifndef BOOTSCOPE_CORE_MEMORY_H
#define BOOTSCOPE_CORE_MEMORY_H

static __always_inline void find_caller(struct page_caller *caller)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct user_registers regs;
	int nr;

	caller->syscall = NO_SYSCALL;
	caller->flags = 0;
	if (LOAD(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) {
		caller->flags = READ_KERNEL_THREAD;
		return;
	}
	if (!read_registers(&regs)) {
		caller->flags = READ_CALLER_UNKNOWN;
		return;
	}
	nr = REG_SYSCALL(&regs);
	if (nr >= 0 && nr < NO_SYSCALL) { /* else it is a fault */
		caller->syscall = nr;
		caller->flags = REG_IS_COMPAT(&regs) ? READ_COMPAT : 0;
	}
}

SEC("tracepoint/filemap/mm_filemap_add_to_page_cache")
int page_added(void *ctx)
{
	struct page_caller caller;

	find_caller(&caller);
	pages_came(ctx, &caller);
	return LEAVE_TO_OTHERS;
}

/*
 * Pages leave the cache by reclaim, on demand, or since their file was cut or removed. The last is
 * no eviction: the inode's number may come back as another file.
 */
SEC("tracepoint/filemap/mm_filemap_delete_from_page_cache")
int page_deleted(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	int by_reclaim = (LOAD(task, flags) & PF_MEMALLOC) != 0;
	struct page_caller caller;
	struct block_walk walk = {};
	struct pages pages;

	if (!by_reclaim) {
		find_caller(&caller);
		if (caller.syscall != NR_WRITE /* to drop_caches */ && caller.syscall != NR_FADVISE64)
			return LEAVE_TO_OTHERS;
	}
	read_pages(&pages, ctx);
	begin_blocks(&walk, &pages);
	walk.on_demand = !by_reclaim;
	EACH_BLOCK(note_evicted, &walk);
	return LEAVE_TO_OTHERS;
}

/* ---- reclaim ---- */

static __always_inline void send_reclaim(enum reclaim_phase phase, enum reclaim_kind kind, __u64 pages)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *css = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = 0;
	struct event_reclaim event = {};
	struct cgroup *cgroup;

	bpf_probe_read_kernel(&state, sizeof(state), (void *)css + bpf_core_field_offset(struct css_set, subsys) +
							     memory * sizeof(state));
	cgroup = LOAD(state, cgroup);
	fill_header(&event.header, KIND_RECLAIM, 0);
	event.cgroup = LOAD(LOAD(cgroup, kn), id);
	event.hierarchy = LOAD(LOAD(cgroup, root), hierarchy_id);
	event.pages = pages;
	event.phase = phase;
	event.kind = kind;
	emit(PROBE_RECLAIM, &event, sizeof(event));
}

SEC("tracepoint/vmscan/mm_vmscan_memcg_reclaim_begin")
int memcg_reclaim_begin(void *ctx)
{
	send_reclaim(RECLAIM_BEGIN, RECLAIM_MEMCG, 0);
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/vmscan/mm_vmscan_memcg_reclaim_end")
int memcg_reclaim_end(void *ctx)
{
	send_reclaim(RECLAIM_END, RECLAIM_MEMCG, FIELD(__u64, ctx, offsets.reclaim_pages));
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_begin")
int direct_reclaim_begin(void *ctx)
{
	send_reclaim(RECLAIM_BEGIN, RECLAIM_GLOBAL, 0);
	return LEAVE_TO_OTHERS;
}

SEC("tracepoint/vmscan/mm_vmscan_direct_reclaim_end")
int direct_reclaim_end(void *ctx)
{
	send_reclaim(RECLAIM_END, RECLAIM_GLOBAL, FIELD(__u64, ctx, offsets.reclaim_pages));
	return LEAVE_TO_OTHERS;
}

#endif

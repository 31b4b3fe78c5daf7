/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * open.h: from a finished open call to its event. The ways to attach differ in how they learn of
 * it; from here on all are one.
 */
#ifndef BOOTSCOPE_OPEN_H
#define BOOTSCOPE_OPEN_H

/* A finished open, as far as the registers and the return value tell. */
struct open_call {
	const char *name;   /* in user memory */
	__u64 user_sp;
	__u32 flags;
	__s32 dirfd;
	__s32 result;
	__u32 compat;
};

#define AT_FDCWD (-100)
#define O_WRONLY 01
#define O_CREAT 0100
#define O_TRUNC 01000

/*
 * Takes the arguments from the saved registers. All but the first survive the call on every
 * architecture (arm64 keeps a copy of the first).
 */
static __always_inline void read_open_call(struct open_call *open, struct finished_call *call)
{
	struct user_registers *regs = &call->regs;
	int compat = call->compat;
	int nr = call->nr;

	open->result = call->result;
	open->compat = compat;
	open->user_sp = REG_SP(regs);
	open->dirfd = AT_FDCWD;
	open->name = (void *)REG_ARG1(regs, compat);
	if (nr == (compat ? NR_COMPAT_OPEN : NR_OPEN)) {
		open->flags = REG_ARG2(regs, compat);
		return;
	}
	if (nr == (compat ? NR_COMPAT_CREAT : NR_CREAT)) {
		open->flags = O_WRONLY | O_CREAT | O_TRUNC;
		return;
	}
	open->dirfd = REG_ARG1(regs, compat);
	open->name = (void *)REG_ARG2(regs, compat);
	open->flags = REG_ARG3(regs, compat);
	if (nr == NR_OPENAT2) {
		__u64 flags = 0;

		bpf_probe_read_user(&flags, sizeof(flags), (void *)REG_ARG3(regs, compat));
		open->flags = flags;
	}
}

static __always_inline void fill_open(struct event_open *event, struct open_call *open)
{
	__builtin_memset(event, 0, sizeof(*event));
	fill_header(&event->header, KIND_OPEN, 0);
	event->user_sp = open->user_sp;
	event->result = open->result;
	event->flags = open->flags;
	event->dirfd = open->dirfd;
	event->how = open->compat ? OPEN_COMPAT : 0;
}

/* Sends an open whose name is in the tail: a failure, or a file that can't be seen. */
static __always_inline void send_open_by_name(struct open_call *open, file_id base)
{
	struct scratch *scratch = take_scratch(PROBE_OPEN);
	struct event_open *event;
	long len;

	if (!scratch)
		return;
	event = (void *)scratch->event;
	fill_open(event, open);
	event->base = base;
	/* The page is resident: the call has just read it. */
	len = bpf_probe_read_user_str(TAIL_OF(scratch, struct event_open), TAIL_MAX, open->name);
	if (len <= 0) {
		event->how |= OPEN_NAME_LOST;
		len = 0;
	} else {
		len--; /* the NUL */
		if (len == TAIL_MAX - 1)
			event->how |= OPEN_NAME_CUT;
	}
	emit_with_tail(PROBE_OPEN, scratch, sizeof(struct event_open), len);
	release_scratch(scratch);
}

#endif

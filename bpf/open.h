/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * open.h: from a finished open call to its event. The ways to attach differ in how they learn of
 * it; from here on all are one.
 */
#ifndef BOOTSCOPE_OPEN_H
#define BOOTSCOPE_OPEN_H

/* A finished call, as far as the registers and the return value tell. */
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
 * Tells an open by its system call number and takes its arguments from the saved registers. All but
 * the first survive the call on every architecture (arm64 keeps a copy of the first).
 */
static __always_inline int is_open_call(int nr, int compat)
{
	if (compat)
		return nr == NR_COMPAT_OPENAT || nr == NR_COMPAT_OPEN || nr == NR_OPENAT2 || nr == NR_COMPAT_CREAT;
	return nr == NR_OPENAT || nr == NR_OPEN || nr == NR_OPENAT2 || nr == NR_CREAT;
}

static __always_inline void read_open_call(struct open_call *call, struct user_registers *regs, int nr, int compat,
					   long result)
{
	call->result = result;
	call->compat = compat;
	call->user_sp = REG_SP(regs);
	if (nr == (compat ? NR_COMPAT_OPEN : NR_OPEN)) {
		call->dirfd = AT_FDCWD;
		call->name = (void *)REG_ARG1(regs, compat);
		call->flags = REG_ARG2(regs, compat);
		return;
	}
	if (nr == (compat ? NR_COMPAT_CREAT : NR_CREAT)) {
		call->dirfd = AT_FDCWD;
		call->name = (void *)REG_ARG1(regs, compat);
		call->flags = O_WRONLY | O_CREAT | O_TRUNC;
		return;
	}
	call->dirfd = REG_ARG1(regs, compat);
	call->name = (void *)REG_ARG2(regs, compat);
	call->flags = REG_ARG3(regs, compat);
	if (nr == NR_OPENAT2) {
		__u64 flags = 0;

		bpf_probe_read_user(&flags, sizeof(flags), (void *)REG_ARG3(regs, compat));
		call->flags = flags;
	}
}

static __always_inline void fill_open(struct event_open *event, struct open_call *call)
{
	__builtin_memset(event, 0, sizeof(*event));
	fill_header(&event->header, KIND_OPEN, 0);
	event->user_sp = call->user_sp;
	event->result = call->result;
	event->flags = call->flags;
	event->dirfd = call->dirfd;
	event->how = call->compat ? OPEN_COMPAT : 0;
}

/* Sends an open whose name is in the tail: a failure, or a file that can't be seen. */
static __always_inline void send_open_by_name(struct open_call *call, file_id base)
{
	struct scratch *scratch = take_scratch(PROBE_OPEN);
	struct event_open *event;
	long len;

	if (!scratch)
		return;
	event = (void *)scratch->event;
	fill_open(event, call);
	event->base = base;
	/* The page is resident: the call has just read it. */
	len = bpf_probe_read_user_str(TAIL_OF(scratch, struct event_open), TAIL_MAX, call->name);
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

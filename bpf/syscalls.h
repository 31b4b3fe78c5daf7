/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * syscalls.h: which system calls are recorded when they return, and by which probe. However a program
 * came to be run at a call's end, the call is told by the saved registers.
 */
#ifndef BOOTSCOPE_SYSCALLS_H
#define BOOTSCOPE_SYSCALLS_H

#define WANT_OPEN 1
#define WANT_SYNC 2
#define WANT_SOCKET 4
#define WANT_ARGS 8 /* of an exec, where its tracepoint can't give them */

/* Which of them sys_exit serves; the recorder adds a bit for each probe that has no better way. */
__u32 sys_exit_wants;

#define SYSCALL_TABLE 512

static const __u8 syscall_class[SYSCALL_TABLE] = {
	[NR_OPEN] = WANT_OPEN,
	[NR_CREAT] = WANT_OPEN,
	[NR_OPENAT] = WANT_OPEN,
	[NR_OPENAT2] = WANT_OPEN,
	[NR_FSYNC] = WANT_SYNC,
	[NR_FDATASYNC] = WANT_SYNC,
	[NR_SYNC_FILE_RANGE] = WANT_SYNC,
	[NR_MSYNC] = WANT_SYNC,
	[NR_SYNCFS] = WANT_SYNC,
	[NR_SYNC] = WANT_SYNC,
	[NR_CONNECT] = WANT_SOCKET,
	[NR_BIND] = WANT_SOCKET,
	[NR_LISTEN] = WANT_SOCKET,
	[NR_EXECVE] = WANT_ARGS,
	[NR_EXECVEAT] = WANT_ARGS,
};

static const __u8 compat_syscall_class[SYSCALL_TABLE] = {
	[NR_COMPAT_OPEN] = WANT_OPEN,
	[NR_COMPAT_CREAT] = WANT_OPEN,
	[NR_COMPAT_OPENAT] = WANT_OPEN,
	[NR_OPENAT2] = WANT_OPEN,
	[NR_COMPAT_FSYNC] = WANT_SYNC,
	[NR_COMPAT_FDATASYNC] = WANT_SYNC,
	[NR_COMPAT_SYNC_FILE_RANGE] = WANT_SYNC,
	[NR_COMPAT_MSYNC] = WANT_SYNC,
	[NR_COMPAT_SYNCFS] = WANT_SYNC,
	[NR_COMPAT_SYNC] = WANT_SYNC,
	[NR_COMPAT_CONNECT] = WANT_SOCKET,
	[NR_COMPAT_BIND] = WANT_SOCKET,
	[NR_COMPAT_LISTEN] = WANT_SOCKET,
	[NR_COMPAT_EXECVE] = WANT_ARGS,
	[NR_COMPAT_EXECVEAT] = WANT_ARGS,
};

/* What a system call is of interest for: a WANT_ bit, or 0. */
static __always_inline __u32 class_of(__u32 nr, int compat)
{
	__u64 index = nr;

	barrier_var(index); /* the verifier must see the comparison in the register that is then used */
	if (index >= SYSCALL_TABLE)
		return 0;
	return compat ? compat_syscall_class[index] : syscall_class[index];
}

/* A call that has returned: everything about it that is in registers. */
struct finished_call {
	struct user_registers regs;
	__u32 nr;
	int compat;
	long result;
};

static __always_inline void decode_call(struct finished_call *call, long result)
{
	call->nr = REG_SYSCALL(&call->regs);
	call->compat = REG_IS_COMPAT(&call->regs);
	call->result = result;
}

/* ---- sync ---- */

static __always_inline int sync_descriptor(struct finished_call *call)
{
	int nr = call->nr;

	if (call->compat ? nr == NR_COMPAT_SYNC || nr == NR_COMPAT_MSYNC : nr == NR_SYNC || nr == NR_MSYNC)
		return -1;
	return REG_ARG1(&call->regs, call->compat);
}

static __always_inline void send_sync(struct finished_call *call, int fd, file_id file)
{
	struct event_sync event = {};

	fill_header(&event.header, KIND_SYNC, 0);
	event.file = file;
	event.fd = fd;
	event.result = call->result;
	event.syscall = call->nr;
	event.compat = call->compat;
	emit(PROBE_SYNC, &event, sizeof(event));
}

/* ---- socket ---- */

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define UNIX_PATH_MAX 108

static __always_inline enum socket_call socket_call_of(struct finished_call *call)
{
	int nr = call->nr;

	if (nr == (call->compat ? NR_COMPAT_CONNECT : NR_CONNECT))
		return SOCKET_CONNECT;
	return nr == (call->compat ? NR_COMPAT_BIND : NR_BIND) ? SOCKET_BIND : SOCKET_LISTEN;
}

/*
 * Copies the path of a Unix socket and returns its length. A path ends at its NUL: what the caller's
 * memory holds behind that is nobody's business. An abstract name begins with one and has all of size.
 */
static __always_inline __u32 read_unix_path(void *to, __u64 user, __u32 size)
{
	__u8 first = 0;
	long len;

	if (size > UNIX_PATH_MAX)
		size = UNIX_PATH_MAX;
	if (bpf_probe_read_user(&first, sizeof(first), (void *)user) != 0)
		return 0;
	if (!first)
		return bpf_probe_read_user(to, size, (void *)user) == 0 ? size : 0;
	len = bpf_probe_read_user_str(to, size + 1, (void *)user);
	return len > 0 ? len - 1 : 0;
}

/* Takes the address apart; returns the length of the Unix path that it put into the tail. */
static __always_inline __u32 read_address(struct scratch *scratch, struct event_socket *event, __u64 user, __u32 size)
{
	if (bpf_probe_read_user(&event->family, sizeof(event->family), (void *)user) != 0)
		return 0;
	if (event->family == AF_UNIX)
		return read_unix_path(TAIL_OF(scratch, struct event_socket), user + 2, size > 2 ? size - 2 : 0);
	if (event->family == AF_INET || event->family == AF_INET6) {
		__u16 port = 0;

		bpf_probe_read_user(&port, sizeof(port), (void *)(user + 2));
		event->port = port >> 8 | port << 8;
		if (event->family == AF_INET)
			bpf_probe_read_user(event->ip, 4, (void *)(user + 4));
		else
			bpf_probe_read_user(event->ip, 16, (void *)(user + 8));
	}
	return 0;
}

static __always_inline void send_socket(struct finished_call *call)
{
	struct scratch *scratch = take_scratch(PROBE_SOCKET);
	struct event_socket *event;
	__u32 tail = 0;

	if (!scratch)
		return;
	event = (void *)scratch->event;
	__builtin_memset(event, 0, sizeof(*event));
	fill_header(&event->header, KIND_SOCKET, 0);
	event->fd = REG_ARG1(&call->regs, call->compat);
	event->result = call->result;
	event->call = socket_call_of(call);
	if (event->call != SOCKET_LISTEN)
		tail = read_address(scratch, event, REG_ARG2(&call->regs, call->compat),
				    REG_ARG3(&call->regs, call->compat));
	emit_with_tail(PROBE_SOCKET, scratch, sizeof(*event), tail);
	release_scratch(scratch);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* core_syscalls.h: programs at the end of the system calls that open, sync and connect (CO-RE only). */
#ifndef BOOTSCOPE_CORE_SYSCALLS_H
#define BOOTSCOPE_CORE_SYSCALLS_H

/* What names the open's file: itself if it was opened, else the directory that its name starts from. */
static __always_inline void find_path(struct open_call *open, struct path *path)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct file *file = 0;
	__u8 first = 0;

	if (open->result >= 0) {
		file = descriptor_file(open->result);
	} else {
		bpf_probe_read_user(&first, sizeof(first), open->name);
		if (first == '/') {
			path->mnt = LOAD(LOAD(task, fs), root.mnt);
			path->dentry = LOAD(LOAD(task, fs), root.dentry);
			return;
		}
		if (open->dirfd == AT_FDCWD) {
			path->mnt = LOAD(LOAD(task, fs), pwd.mnt);
			path->dentry = LOAD(LOAD(task, fs), pwd.dentry);
			return;
		}
		file = descriptor_file(open->dirfd);
	}
	if (file)
		file_path(file, path);
}

static __always_inline void send_open(struct finished_call *call)
{
	struct open_call open = {};
	struct event_open event;
	struct path path = {};
	file_id id;

	read_open_call(&open, call);
	find_path(&open, &path);
	id = name_path(&path, PROBE_OPEN);
	if (open.result < 0 || !id) {
		send_open_by_name(&open, id);
		return;
	}
	fill_open(&event, &open);
	event.file = id;
	emit(PROBE_OPEN, &event, sizeof(event));
}

static __always_inline void send_core_sync(struct finished_call *call)
{
	int fd = sync_descriptor(call);
	struct path path = {};
	struct file *file;

	if (fd >= 0) {
		file = descriptor_file(fd);
		if (file)
			file_path(file, &path);
	}
	send_sync(call, fd, name_path(&path, PROBE_SYNC));
}

/* A function that only the wanted system calls end in has returned. */
static __always_inline int call_returned(__u32 want, long result)
{
	struct finished_call call;
	__u32 class;

	if (!read_registers(&call.regs))
		return 0;
	decode_call(&call, result);
	class = class_of(call.nr, call.compat) & want;
	if (class == WANT_OPEN)
		send_open(&call);
	else if (class == WANT_SYNC)
		send_core_sync(&call);
	else if (class == WANT_SOCKET)
		send_socket(&call);
	return 0;
}

/* Everywhere: every system call's end. What is not wanted leaves after a few loads. */
SEC("tp_btf/sys_exit")
int sys_exit(__u64 *ctx)
{
	struct pt_regs *saved = (void *)ctx[0];
	__u32 class = class_of(REG_SYSCALL(saved), REG_IS_COMPAT(saved)) & sys_exit_wants;
	struct finished_call call;

	if (!class)
		return 0;
	copy_registers(&call.regs, saved);
	decode_call(&call, ctx[1]);
	if (class == WANT_OPEN)
		send_open(&call);
	else if (class == WANT_SYNC)
		send_core_sync(&call);
	else
		send_socket(&call);
	return 0;
}

/* First choice: do_sys_openat2 serves open, openat, openat2 and creat, of 32-bit callers too (5.6). */
SEC("fexit/do_sys_openat2")
int open_fexit(__u64 *ctx) { return call_returned(WANT_OPEN, ctx[3]); }

/* A return probe has no arguments; the saved registers of the system call still do. */
SEC("kretprobe/do_sys_openat2")
int open_kretprobe(struct user_registers *ctx) { return call_returned(WANT_OPEN, REG_RESULT(ctx)); }

/*
 * What the table of system calls leads to: a compiler may put what these call into them. 32-bit programs on x86
 * come by other functions.
 */
#if defined(__TARGET_ARCH_x86)
#define SYSCALL_FUNCTION(name) "__x64_sys_" #name
#else
#define SYSCALL_FUNCTION(name) "__arm64_sys_" #name
#endif

#define SYNC_FEXIT(name)                                                                           \
	SEC("fexit/" SYSCALL_FUNCTION(name))                                                       \
	int name##_fexit(__u64 *ctx) { return call_returned(WANT_SYNC, ctx[1]); }

SYNC_FEXIT(fsync)
SYNC_FEXIT(fdatasync)
SYNC_FEXIT(sync_file_range)
SYNC_FEXIT(msync)
SYNC_FEXIT(syncfs)

/* Types don't know the function of sync(2) on x86. This one returns nothing, as sync(2) returns 0. */
SEC("fexit/ksys_sync")
int sync_fexit(__u64 *ctx) { return call_returned(WANT_SYNC, 0); }

SEC("kretprobe")
int sync_kretprobe(struct user_registers *ctx) { return call_returned(WANT_SYNC, REG_RESULT(ctx)); }

SEC("fexit/__sys_connect")
int connect_fexit(__u64 *ctx) { return call_returned(WANT_SOCKET, (int)ctx[3]); }

SEC("fexit/__sys_bind")
int bind_fexit(__u64 *ctx) { return call_returned(WANT_SOCKET, (int)ctx[3]); }

SEC("fexit/__sys_listen")
int listen_fexit(__u64 *ctx) { return call_returned(WANT_SOCKET, (int)ctx[2]); }

SEC("kretprobe")
int socket_kretprobe(struct user_registers *ctx) { return call_returned(WANT_SOCKET, (int)REG_RESULT(ctx)); }

#endif

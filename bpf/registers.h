/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * registers.h: a task's saved user registers. Their layout is part of the kernel's ABI with
 * user space (ptrace, core dumps), so these offsets are constants, the same with or without BTF.
 */
#ifndef BOOTSCOPE_REGISTERS_H
#define BOOTSCOPE_REGISTERS_H

#if defined(__TARGET_ARCH_x86)

struct user_registers {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

/*
 * arch/x86/include/asm/segment.h: the code segment of a process in 32-bit mode. A 64-bit process
 * that calls int 0x80 is not recognised by it.
 */
#define USER32_CS 0x23

#define REG_SYSCALL(r) ((int)((r)->orig_ax & ~0x40000000UL)) /* the bit marks x32 */
#define REG_SP(r) ((r)->sp)
#define REG_IP(r) ((r)->ip)
#define REG_RESULT(r) ((r)->ax)
#define REG_ARG1(r, compat) ((compat) ? (__u32)(r)->bx : (r)->di)
#define REG_ARG2(r, compat) ((compat) ? (__u32)(r)->cx : (r)->si)
#define REG_ARG3(r, compat) ((compat) ? (__u32)(r)->dx : (r)->dx)
#define REG_IS_COMPAT(r) ((r)->cs == USER32_CS)
#define REG_FROM_KERNEL(r) (((r)->cs & 3) == 0)

/* Copies saved registers from where the kernel keeps them. Returns 0 if that went well. */
static __always_inline long copy_registers(struct user_registers *regs, const void *saved)
{
	return bpf_probe_read_kernel(regs, sizeof(*regs), saved);
}

/* What perf_event programs get: the interrupted registers (bpf_user_pt_regs_t). */
struct perf_context {
	struct user_registers regs;
	__u64 sample_period;
	__u64 addr;
};

/* System calls: arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl */
#define NR_WRITE 1
#define NR_OPEN 2
#define NR_MSYNC 26
#define NR_CONNECT 42
#define NR_BIND 49
#define NR_LISTEN 50
#define NR_EXECVE 59
#define NR_FSYNC 74
#define NR_FDATASYNC 75
#define NR_CREAT 85
#define NR_SYNC 162
#define NR_FADVISE64 221
#define NR_OPENAT 257
#define NR_SYNC_FILE_RANGE 277
#define NR_SYNCFS 306
#define NR_EXECVEAT 322
#define NR_OPENAT2 437
#define NR_COMPAT_OPEN 5
#define NR_COMPAT_CREAT 8
#define NR_COMPAT_EXECVE 11
#define NR_COMPAT_SYNC 36
#define NR_COMPAT_FSYNC 118
#define NR_COMPAT_MSYNC 144
#define NR_COMPAT_FDATASYNC 148
#define NR_COMPAT_OPENAT 295
#define NR_COMPAT_SYNC_FILE_RANGE 314
#define NR_COMPAT_SYNCFS 344
#define NR_COMPAT_EXECVEAT 358
#define NR_COMPAT_BIND 361
#define NR_COMPAT_CONNECT 362
#define NR_COMPAT_LISTEN 363

#elif defined(__TARGET_ARCH_arm64)

struct user_registers {
	unsigned long x[14]; /* the other 17 would take too much of the stack */
	unsigned long sp, pc, pstate;
	/* Not in the user's view, but in this place since 3.7 (x0) and 4.19 (syscallno). */
	unsigned long orig_x0;
	int syscallno;
	unsigned int unused;
};

#define PSR_MODE32_BIT 0x10
#define PSR_MODE_MASK 0x0f

#define REG_SYSCALL(r) ((r)->syscallno)
#define REG_SP(r)                                                                                  \
	({                                                                                         \
		unsigned long sp = (r)->sp, compat_sp = (r)->x[13];                                \
		asm volatile("" : "+r"(sp), "+r"(compat_sp)); /* no load from a computed place */  \
		REG_IS_COMPAT(r) ? compat_sp : sp;                                                 \
	})
#define REG_IP(r) ((r)->pc)
#define REG_RESULT(r) ((r)->x[0])
/* The return value is in x0 by the time the call has returned; its first argument was kept. */
#define REG_ARG1(r, compat) ((compat) ? (__u32)(r)->orig_x0 : (r)->orig_x0)
#define REG_ARG2(r, compat) ((compat) ? (__u32)(r)->x[1] : (r)->x[1])
#define REG_ARG3(r, compat) ((compat) ? (__u32)(r)->x[2] : (r)->x[2])
#define REG_IS_COMPAT(r) (((r)->pstate & PSR_MODE32_BIT) != 0)
#define REG_FROM_KERNEL(r) (((r)->pstate & PSR_MODE_MASK) != 0)

static __always_inline long copy_registers(struct user_registers *regs, const void *saved)
{
	long err = bpf_probe_read_kernel(&regs->x, sizeof(regs->x), saved);

	return err ? err : bpf_probe_read_kernel(&regs->sp, sizeof(*regs) - sizeof(regs->x), saved + 31 * 8);
}

struct perf_context {
	struct {
		unsigned long x[31];
		unsigned long sp, pc, pstate;
	} regs;
	__u64 sample_period;
	__u64 addr;
};

/*
 * System calls: include/uapi/asm-generic/unistd.h and arch/arm/tools/syscall.tbl. arm64 has neither
 * open nor creat; their numbers are out of reach.
 */
#define NR_OPEN 510
#define NR_CREAT 511
#define NR_OPENAT 56
#define NR_WRITE 64
#define NR_SYNC 81
#define NR_FSYNC 82
#define NR_FDATASYNC 83
#define NR_SYNC_FILE_RANGE 84
#define NR_BIND 200
#define NR_LISTEN 201
#define NR_CONNECT 203
#define NR_EXECVE 221
#define NR_FADVISE64 223
#define NR_MSYNC 227
#define NR_SYNCFS 267
#define NR_EXECVEAT 281
#define NR_OPENAT2 437
#define NR_COMPAT_OPEN 5
#define NR_COMPAT_CREAT 8
#define NR_COMPAT_EXECVE 11
#define NR_COMPAT_SYNC 36
#define NR_COMPAT_FSYNC 118
#define NR_COMPAT_MSYNC 144
#define NR_COMPAT_FDATASYNC 148
#define NR_COMPAT_BIND 282
#define NR_COMPAT_CONNECT 283
#define NR_COMPAT_LISTEN 284
#define NR_COMPAT_OPENAT 322
#define NR_COMPAT_SYNC_FILE_RANGE 341
#define NR_COMPAT_SYNCFS 373
#define NR_COMPAT_EXECVEAT 387

#else
#error "registers.h knows x86-64 and arm64 only"
#endif

#endif

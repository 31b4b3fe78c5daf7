/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.h: the kernel structs and fields that the CO-RE programs read, and no others. Offsets
 * are relocated against the running kernel's BTF when the object is loaded, so order and padding
 * here mean nothing. Fields that were renamed are in core_fixes.h.
 */
#ifndef BOOTSCOPE_KERNEL_H
#define BOOTSCOPE_KERNEL_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	__u32 hash;
	__u32 len;
	const unsigned char *name;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_flags;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	__s64 i_size;
	__u32 i_generation;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	int mnt_id;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id; /* 0 for the unified hierarchy */
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

enum cgroup_subsys_id {
	memory_cgrp_id, /* the value is relocated */
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct cgroup_subsys_state *subsys[16];
};

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_io_accounting {
	__u64 read_bytes;
	__u64 write_bytes;
};

struct task_struct {
	void *stack;
	unsigned int flags;
	unsigned in_iowait : 1;
	int pid;
	int tgid;
	int exit_state;
	int exit_code;
	struct task_struct *real_parent;
	char comm[16];
	struct sched_entity se;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct css_set *cgroups;
	struct task_io_accounting ioac;
};

/* The saved user registers. Known offsets, see registers.h; here for their size and for direct loads. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long orig_ax;
	unsigned long cs;
	unsigned long sp;
#else
	__s32 syscallno;
	unsigned long pstate;
	unsigned long sp;
#endif
};

struct linux_binprm {
	struct file *file;
	const char *filename;
};

/* For its first field: it is the number that a field of another struct is read as. */
struct timespec64 {
	__s64 tv_sec;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct open_how {
	__u64 flags;
	__u64 mode;
	__u64 resolve;
};

#pragma clang attribute pop

/* Gives an address a type (6.2, has_rdonly_cast). */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

/*
 * A field of a struct that is at an address: by a load where the kernel lets an address be given a type, else by a
 * helper, which takes 24 ns. Where no such struct is, both give zeros, or what is there.
 */
#define LOAD(address, field)                                                                       \
	({                                                                                         \
		typeof(address) at = (address);                                                    \
		typeof(at->field) value;                                                           \
		if (has_rdonly_cast) {                                                             \
			at = bpf_rdonly_cast(at, bpf_core_type_id_kernel(typeof(*at)));            \
			value = at->field;                                                         \
		} else {                                                                           \
			value = BPF_CORE_READ(at, field);                                          \
		}                                                                                  \
		value;                                                                             \
	})

/* include/linux/sched.h */
#define PF_IO_WORKER 0x00000010
#define PF_MEMALLOC 0x00000800 /* frees memory now: kswapd always, others in direct reclaim */
#define PF_KTHREAD 0x00200000
#define TASK_INTERRUPTIBLE 0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED 0x0004
#define TASK_TRACED 0x0008
#define EXIT_DEAD 0x0010
#define EXIT_ZOMBIE 0x0020
#define TASK_PARKED 0x0040
#define TASK_DEAD 0x0080
#define TASK_NOLOAD 0x0400

/* include/linux/fs.h: pipefs, sockfs, anon_inodefs and the like, which have no paths */
#define SB_NOUSER (1UL << 31)

#endif

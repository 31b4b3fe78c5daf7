/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * file.h: which file is it, and its path, sent once (CO-RE only).
 *
 * A file is named by a 64-bit id mixed from everything that gives it another path: device, inode,
 * generation, mount, and the parent and name of the directory entry it was reached by. So a
 * renamed file (m.pyc.140 becomes m.pyc and keeps its inode) gets a new id and a new path event.
 */
#ifndef BOOTSCOPE_FILE_H
#define BOOTSCOPE_FILE_H

#define PATH_COMPONENTS 64

/*
 * The files whose paths were sent last, in sets of four (512 KiB in all): a hash map took 30 ns for a look, and five
 * times the memory. What falls out of its set is sent again, which costs a record. Two CPUs may send a path at once.
 */
#define PATH_SETS 16384

struct path_set {
	file_id newest[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PATH_SETS);
	__type(key, __u32);
	__type(value, struct path_set);
} paths_sent SEC(".maps");

static __always_inline struct path_set *set_of(file_id id)
{
	__u32 set = id >> 32 & (PATH_SETS - 1);

	return bpf_map_lookup_elem(&paths_sent, &set);
}

static __always_inline int path_was_sent(file_id id)
{
	struct path_set *set = set_of(id);

	return set && (set->newest[0] == id || set->newest[1] == id || set->newest[2] == id || set->newest[3] == id);
}

static __always_inline void note_path_sent(file_id id)
{
	struct path_set *set = set_of(id);

	if (!set)
		return;
	set->newest[3] = set->newest[2];
	set->newest[2] = set->newest[1];
	set->newest[1] = set->newest[0];
	set->newest[0] = id;
}

static __always_inline __u64 mix(__u64 h, __u64 value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

/* What a directory entry tells: the fields from d_parent to d_inode, in the kernel's order. */
struct entry {
	struct dentry *parent;
	__u32 hash, len;
	const unsigned char *name;
	struct inode *inode;
};

/* By a helper in one read, 24 ns, unless this kernel was built with its structs' fields in another order. */
static __always_inline void read_entry(struct entry *entry, struct dentry *dentry)
{
	const __u32 begin = bpf_core_field_offset(struct dentry, d_parent);

	if (has_rdonly_cast) {
		entry->parent = LOAD(dentry, d_parent);
		entry->hash = LOAD(dentry, d_name.hash);
		entry->len = LOAD(dentry, d_name.len);
		entry->name = LOAD(dentry, d_name.name);
		entry->inode = LOAD(dentry, d_inode);
		return;
	}
	if (bpf_core_field_offset(struct dentry, d_name) - begin == offsetof(struct entry, hash) &&
	    bpf_core_field_offset(struct dentry, d_inode) - begin == offsetof(struct entry, inode)) {
		bpf_probe_read_kernel(entry, sizeof(*entry), (void *)dentry + begin);
		return;
	}
	bpf_core_read(&entry->parent, sizeof(entry->parent), &dentry->d_parent);
	bpf_core_read(&entry->hash, sizeof(entry->hash), &dentry->d_name.hash);
	bpf_core_read(&entry->len, sizeof(entry->len), &dentry->d_name.len);
	bpf_core_read(&entry->name, sizeof(entry->name), &dentry->d_name.name);
	bpf_core_read(&entry->inode, sizeof(entry->inode), &dentry->d_inode);
}

/* The id of the file that entry tells of; the entry is its parent's afterwards. */
static __always_inline file_id identify(struct entry *entry, struct mount *mount)
{
	struct inode *inode = entry->inode;
	__u64 h;

	h = mix(0, (__u64)LOAD(LOAD(inode, i_sb), s_dev) << 32 | LOAD(inode, i_generation));
	h = mix(h, LOAD(inode, i_ino));
	h = mix(h, (__u64)LOAD(mount, mnt_id) << 32 | entry->hash);
	read_entry(entry, entry->parent);
	inode = entry->inode;
	h = mix(h, LOAD(inode, i_ino));
	h = mix(h, entry->hash);
	return h | 1;
}

static __always_inline __u32 mount_ns_of(struct task_struct *task)
{
	return LOAD(LOAD(LOAD(task, nsproxy), mnt_ns), ns.inum);
}

static __always_inline void enter_mount(struct scratch *scratch, struct mount *mount, struct dentry *dentry)
{
	scratch->mount = (__u64)mount;
	scratch->dentry = (__u64)dentry;
	scratch->root = (__u64)LOAD(mount, mnt.mnt_root);
}

/* At the root of a mount, goes on at the place where it is mounted. Returns 0 at the root of all. */
static __always_inline int leave_mount(struct scratch *scratch)
{
	struct mount *from = (void *)scratch->mount, *parent;

	if (scratch->dentry != scratch->root)
		return 1;
	parent = LOAD(from, mnt_parent);
	if (parent == from)
		return 0;
	enter_mount(scratch, parent, LOAD(from, mnt_mountpoint));
	return 1;
}

/*
 * Writes one name more into the tail of the scratch. The offset is read from memory each time, so that
 * the verifier knows no value of it: following a register's values through the loop took it 79,000
 * instructions for 16 components. Returns 1 when the walk is over.
 */
static __noinline long walk_up(__u32 index, struct scratch **held)
{
	const __u32 tail = sizeof(struct event_path);
	struct scratch *scratch = *held;
	struct entry *entry = (void *)scratch->entry;
	__u32 used, len;

	scratch->path_flags = 0;
	/* Twice, for a file system that is mounted at the root of another. */
	if (!leave_mount(scratch) || !leave_mount(scratch))
		return 1;
	scratch->path_flags = PATH_CUT;
	read_entry(entry, (void *)scratch->dentry);
	/* A root that is in no place: three file systems at one, or a file that came by its handle. */
	if (index >= PATH_COMPONENTS || scratch->dentry == (__u64)entry->parent)
		return 1;
	scratch->dentry = (__u64)entry->parent;
	len = entry->len & NAME_MAX_BYTES;
	used = *(volatile __u32 *)&scratch->used;
	if (used + len + 1 >= TAIL_MAX)
		return 1;
	used &= TAIL_MAX - 1;
	*(volatile __u32 *)&scratch->used = used + len + 1;
	bpf_probe_read_kernel(&scratch->event[tail + used], len, entry->name);
	scratch->event[tail + used + len] = 0;
	return 0;
}

/* Writes the names from the leaf up and returns path_flags. */
static __always_inline __u32 walk_path(struct scratch *scratch, struct dentry *dentry, struct mount *mount)
{
	scratch->used = 0;
	enter_mount(scratch, mount, dentry);
	REPEAT(PATH_COMPONENTS + 1, walk_up, &scratch);
	return scratch->path_flags;
}

/*
 * A global function: the verifier walks through its loop once, whatever its callers were doing, and
 * knows its arguments as numbers only.
 */
__noinline int send_path(__u64 dentry_address, __u64 mount_address, file_id id, __u32 probe)
{
	struct dentry *dentry = (void *)dentry_address;
	struct mount *mount = (void *)mount_address;
	struct inode *inode = LOAD(dentry, d_inode);
	struct task_struct *task = (void *)bpf_get_current_task();
	struct scratch *scratch;
	struct event_path *event;

	if (probe >= PROBE_COUNT)
		return 0;
	scratch = take_scratch(probe);
	if (!scratch)
		return 0;
	event = (void *)scratch->event;
	__builtin_memset(event, 0, sizeof(*event));
	event->file = id;
	event->inode = LOAD(inode, i_ino);
	event->parent = LOAD(LOAD(LOAD(dentry, d_parent), d_inode), i_ino);
	event->size = LOAD(inode, i_size);
	event->device = LOAD(LOAD(inode, i_sb), s_dev);
	event->generation = LOAD(inode, i_generation);
	event->mount_ns = mount_ns_of(task);
	event->mode = LOAD(inode, i_mode);
	if (LOAD(LOAD(inode, i_sb), s_flags) & SB_NOUSER) {
		event->flags = PATH_NONE;
		scratch->used = 0;
	} else {
		event->flags = walk_path(scratch, dentry, mount);
		if (LOAD(inode, i_nlink) == 0)
			event->flags |= PATH_UNLINKED;
	}
	fill_header(&event->header, KIND_PATH, 0);
	/* Only a path that has its place in the buffer counts as sent. */
	if (emit_with_tail(probe, scratch, sizeof(*event), *(volatile __u32 *)&scratch->used) == 0)
		note_path_sent(id);
	release_scratch(scratch);
	return 0;
}

/* Returns the id of what path leads to, and sends its path if that was not done before. */
static __always_inline file_id name_path(struct path *path, enum probe_id probe)
{
	const __u32 mnt = bpf_core_field_offset(struct mount, mnt);
	struct mount *mount = (void *)path->mnt - mnt;
	struct entry entry = {};
	struct path addresses;
	file_id id;

	if (!path->dentry || !path->mnt)
		return 0;
	read_entry(&entry, path->dentry);
	if (!entry.inode)
		return 0;
	id = identify(&entry, mount);
	if (path_was_sent(id))
		return id;
	/* To a global function, the verifier passes numbers, and no pointers of any type: read, they are numbers. */
	bpf_probe_read_kernel(&addresses, sizeof(addresses), path);
	send_path((__u64)addresses.dentry, (__u64)addresses.mnt - mnt, id, probe);
	return id;
}

static __always_inline void file_path(struct file *file, struct path *path)
{
	if (!has_rdonly_cast && bpf_core_field_offset(struct path, mnt) == 0 && bpf_core_field_offset(struct path, dentry) == 8) {
		bpf_core_read(path, sizeof(*path), &file->f_path);
		return;
	}
	path->mnt = LOAD(file, f_path.mnt);
	path->dentry = LOAD(file, f_path.dentry);
}

/*
 * The file behind a descriptor of the current task. Where the task has a type, so has what its fields lead to, which is
 * loaded without a helper, too: where there is no cast yet. Newer verifiers ask whether what such a field leads to can be
 * trusted, and search all of the kernel's types for the answer, 1.5 ms each time.
 */
static __always_inline struct file *descriptor_file(__u32 fd)
{
	struct file **slots, *file = 0;
	struct fdtable *table;
	__u32 count;

	if (has_task_pt_regs && !has_rdonly_cast) {
		table = ((struct task_struct *)bpf_get_current_task_btf())->files->fdt;
		if (!table)
			return 0;
		slots = table->fd;
		count = table->max_fds;
	} else {
		table = LOAD(LOAD((struct task_struct *)bpf_get_current_task(), files), fdt);
		slots = LOAD(table, fd);
		count = LOAD(table, max_fds);
	}
	if (fd < count)
		bpf_probe_read_kernel(&file, sizeof(file), &slots[fd]);
	return file;
}

#endif

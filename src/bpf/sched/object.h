/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_OBJECT_H
#define BPF_SCHED_OBJECT_H

/*
 * The file that a thread waits for, as an object with a number. Where a number is new, a record
 * tells what it is: the path, the addresses of a socket. What is read may be closed and freed
 * meanwhile, by another thread: every read may fail, which costs a name and nothing more.
 */
#include "bpf/capture/capture.h"
#include "bpf/sched/descriptor.h"
#include "bpf/sched/object_abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr___object {
	__u64 hash_len;
	const unsigned char *name;
};

struct hlist_bl_node___object {
	void **pprev;
};

struct dentry___object {
	struct hlist_bl_node___object d_hash;
	struct dentry___object *d_parent;
	struct qstr___object d_name;
};

struct vfsmount___object {
	struct dentry___object *mnt_root;
};

struct mount___object {
	struct mount___object *mnt_parent;
	struct dentry___object *mnt_mountpoint;
	struct vfsmount___object mnt;
};

struct path___object {
	struct vfsmount___object *mnt;
	struct dentry___object *dentry;
};

struct super_block___object {
	__u32 s_dev;
};

struct inode___object {
	unsigned long i_ino;
	struct super_block___object *i_sb;
};

struct file___object {
	struct inode___object *f_inode;
	struct path___object f_path;
	void *private_data;
};

struct fs_struct___object {
	struct path___object root;
};

struct task_struct___object {
	struct fs_struct___object *fs;
};

struct in6_addr___object {
	__u8 in6_u[16];
};

struct sock_common___object {
	__u32 skc_daddr, skc_rcv_saddr;
	__u32 skc_portpair;
	__u16 skc_dport, skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr___object skc_v6_daddr, skc_v6_rcv_saddr;
};

struct upid___object {
	int nr;
};

struct pid___object {
	struct upid___object numbers[1];
};

struct socket___object;

struct sock___object {
	struct sock_common___object __sk_common;
	__u16 sk_type, sk_protocol;
	struct pid___object *sk_peer_pid;
	struct socket___object *sk_socket;
};

struct socket___object {
	struct file___object *file;
	struct sock___object *sk;
};

struct unix_address___object {
	int len;
	struct {
		unsigned short sun_family;
	} name[];
};

struct unix_sock___object {
	struct unix_address___object *addr;
	struct sock___object *peer;
};

#pragma clang attribute pop

#define FAMILY_IPV4 2 /* linux/socket.h */
#define FAMILY_IPV6 10

#define TCP_LISTENS 10 /* net/tcp_states.h; Unix sockets use it, too */

/* The longest address of a Unix socket, without its family. */
#define UNIX_PATH_MAX 108

/*
 * What makes an object another one. Memory is soon another file's when one was closed, so its
 * address alone does not.
 */
struct object_key {
	__u64 file, name, inode, mount;
	__u32 pid, fd; /* of what has no name but its number in a process */
	__u32 age;
	__u32 source; /* each tells of objects by itself; and what of an entry of io_uring */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct object_key);
	__type(value, __u32);
} object_numbers SEC(".maps") __weak;

/* The last object's number. */
__u32 object_count __weak;

static __always_inline __u32 object_age(void)
{
	return object_count >> OBJECT_AGE_BITS;
}

static __always_inline bool object_has_path(__u8 descriptor)
{
	return descriptor >= OFF_CPU_FD_FILE && descriptor <= OFF_CPU_FD_PIPE;
}

static __always_inline bool object_is_socket(__u8 descriptor)
{
	return descriptor == OFF_CPU_FD_SOCKET || descriptor == OFF_CPU_FD_UNIX_SOCKET;
}

/* -- paths ------------------------------------------------------------------------------------- */

struct object_climb {
	struct object_report *told;
	struct dentry___object *dentry, *root;
	struct mount___object *mount, *root_mount;
	__u32 at, names;
	bool is_done;
};

static __always_inline struct mount___object *object_mount(struct vfsmount___object *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount___object, mnt);
}

/* One name, or out of one file system into the one where it is mounted. */
static long object_climb_step(__u32 i, void *context)
{
	struct object_climb *climb = context;
	struct dentry___object *dentry = climb->dentry, *parent;
	struct mount___object *mount = climb->mount, *above;
	__u32 at = climb->at;
	long size;

	if (dentry == climb->root && mount == climb->root_mount)
		goto done;
	parent = BPF_CORE_READ(dentry, d_parent);
	if (dentry == parent || dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		above = BPF_CORE_READ(mount, mnt_parent);
		if (!above || above == mount)
			goto done;
		climb->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		climb->mount = above;
		return 0;
	}
	OPAQUE(at);
	if (at > OBJECT_TEXT_MAX - OBJECT_NAME_MAX)
		return 1;
	size = bpf_probe_read_kernel_str(&climb->told->text[at], OBJECT_NAME_MAX,
					 BPF_CORE_READ(dentry, d_name.name));
	if (size <= 0)
		return 1;
	climb->at = at + size;
	climb->names++;
	climb->dentry = parent;
	return 0;
done:
	climb->is_done = true;
	return 1;
}

/* The names of a path, as the thread sees it, behind the text that is there. */
static __always_inline void object_climb_from(struct object_report *told,
					      struct object_climb *climb,
					      struct fs_struct___object *fs)
{
	climb->root = BPF_CORE_READ(fs, root.dentry);
	climb->root_mount = object_mount(BPF_CORE_READ(fs, root.mnt));
	climb->at = told->bytes;
	bpf_loop(OBJECT_NAMES_MAX, object_climb_step, climb, 0);
	told->bytes = climb->at;
	told->names = climb->names;
	told->is_cut = !climb->is_done;
}

static __always_inline void object_read_path(struct object_report *told, struct file___object *file,
					     struct fs_struct___object *fs)
{
	struct dentry___object *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct object_climb climb = {.told = told, .dentry = dentry};

	climb.mount = object_mount(BPF_CORE_READ(file, f_path.mnt));
	/* the root of a file system is in no directory */
	told->is_deleted =
		!BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry;
	object_climb_from(told, &climb, fs);
}

/* -- sockets ----------------------------------------------------------------------------------- */

static __always_inline void object_read_addresses(struct object_report *told,
						  struct sock___object *sk)
{
	told->near_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	told->far_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (told->family == FAMILY_IPV4) {
		BPF_CORE_READ_INTO((__u32 *)told->near, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)told->far, sk, __sk_common.skc_daddr);
	} else if (told->family == FAMILY_IPV6) {
		BPF_CORE_READ_INTO((struct in6_addr___object *)told->near, sk,
				   __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr___object *)told->far, sk,
				   __sk_common.skc_v6_daddr);
	}
}

/* The name of one end: that of this one, or, if it has none, of the other. */
static __always_inline void object_read_unix(struct object_report *told, struct sock___object *sk)
{
	struct unix_sock___object *near = (void *)sk;
	struct unix_sock___object *far = (void *)BPF_CORE_READ(near, peer);
	struct unix_address___object *address = BPF_CORE_READ(near, addr);
	__u32 size;

	told->far_pid = BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr);
	if (far)
		told->far_inode =
			BPF_CORE_READ((struct sock___object *)far, sk_socket, file, f_inode, i_ino);
	if (!address && far) {
		address = BPF_CORE_READ(far, addr);
		told->far_named = 1;
	}
	if (!address)
		return;
	size = BPF_CORE_READ(address, len) - sizeof(unsigned short);
	OPAQUE(size);
	if (size > UNIX_PATH_MAX)
		return;
	if (!bpf_probe_read_kernel(
		    told->text, size,
		    (void *)address + bpf_core_field_offset(struct unix_address___object, name) +
			    sizeof(unsigned short)))
		told->bytes = size;
}

static __always_inline struct sock___object *object_sock(struct file___object *file)
{
	struct socket___object *socket = KERNEL_READ(file, private_data);

	return KERNEL_READ(socket, sk);
}

static __always_inline bool object_listens(struct sock___object *sk)
{
	return KERNEL_READ(sk, __sk_common.skc_state) == TCP_LISTENS;
}

static __always_inline void object_read_socket(struct object_report *told, struct sock___object *sk)
{
	told->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	told->type = BPF_CORE_READ(sk, sk_type);
	told->protocol = BPF_CORE_READ(sk, sk_protocol);
	told->listens = object_listens(sk);
	if (told->family == FAMILY_UNIX)
		object_read_unix(told, sk);
	else
		object_read_addresses(told, sk);
}

/* -- objects ----------------------------------------------------------------------------------- */

/* What of an object may change while it is open, and makes it another one. */
static __always_inline __u64 object_name(struct file___object *file, __u8 descriptor)
{
	struct dentry___object *dentry;
	struct sock___object *sk;

	if (object_has_path(descriptor)) {
		dentry = KERNEL_READ(file, f_path.dentry);
		return (__u64)dentry ^ KERNEL_READ(dentry, d_name.hash_len);
	}
	if (object_is_socket(descriptor)) {
		sk = object_sock(file);
		return descriptor == OFF_CPU_FD_UNIX_SOCKET
			       ? (__u64)KERNEL_READ((struct unix_sock___object *)sk, peer)
			       : KERNEL_READ(sk, __sk_common.skc_portpair) |
					 (__u64)object_listens(sk) << 32;
	}
	return 0;
}

static __always_inline void object_fill(struct object_report *told, struct file___object *file,
					struct fs_struct___object *fs, __u8 descriptor, __u32 fd)
{
	__builtin_memset(told, 0, __builtin_offsetof(struct object_report, text));
	told->descriptor = descriptor;
	told->fd = fd;
	told->inode = BPF_CORE_READ(file, f_inode, i_ino);
	if (object_has_path(descriptor)) {
		told->device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
		object_read_path(told, file, fs);
	} else if (object_is_socket(descriptor)) {
		object_read_socket(told, object_sock(file));
	}
}

/*
 * What object_number() gets in one word, above the number of the descriptor: what it is of, and, of
 * an entry of io_uring, its operation and one, and how many are in flight.
 */
enum object_what_at {
	OBJECT_DESCRIPTOR_AT = 32,
	OBJECT_OPERATION_AT = 40,
	OBJECT_IN_FLIGHT_AT = 48,
};

/*
 * Sends a new one to user space. Returns its number; 0: that was lost, and is counted. Not static,
 * so that the verifier looks at it once; it then gets addresses, and reads what is there.
 */
__weak __noinline int object_send(__u64 fs, __u64 file, __u64 what, __u32 kind)
{
	struct capture_scratch *scratch =
		capture_begin(CAPTURE_KIND_SOURCE(kind), CAPTURE_WALKER_NONE);
	struct object_report *told;
	__u32 number;

	if (!scratch)
		return 0;
	number = __sync_fetch_and_add(&object_count, 1) + 1;
	__builtin_memset(&scratch->record, 0, sizeof(scratch->record));
	scratch->record.head.kind = kind;
	scratch->record.head.time = bpf_ktime_get_ns();
	told = (struct object_report *)scratch->frames;
	object_fill(told, (void *)file, (void *)fs, what >> OBJECT_DESCRIPTOR_AT, (__u32)what);
	told->operation = what >> OBJECT_OPERATION_AT;
	told->in_flight = what >> OBJECT_IN_FLIGHT_AT;
	told->number = number;
	if (!capture_send_plain(scratch, OBJECT_WORDS(told->bytes)))
		number = 0;
	capture_end(scratch);
	return number;
}

/* at: of the file; 0: an entry of io_uring that has none. */
__weak __noinline int object_number(__u64 fs, __u64 at, __u64 what, __u32 kind, __u32 pid)
{
	__u8 descriptor = what >> OBJECT_DESCRIPTOR_AT;
	struct file___object *file = (void *)at;
	struct object_key key = {
		.file = at,
		.age = object_age(),
		.source = CAPTURE_KIND_SOURCE(kind) | (__u32)(what >> OBJECT_OPERATION_AT) << 8,
	};
	__u32 *known, number;

	key.inode = BPF_CORE_READ(file, f_inode, i_ino);
	key.name = object_name(file, descriptor);
	if (object_has_path(descriptor)) {
		/* however often it was opened */
		key.file = 0;
		key.mount = (__u64)BPF_CORE_READ(file, f_path.mnt);
	} else if (object_is_socket(descriptor)) {
		key.file = (__u64)object_sock(file);
	} else {
		key.pid = pid;
		key.fd = (__u32)what;
	}
	known = bpf_map_lookup_elem(&object_numbers, &key);
	if (known)
		return *known;
	number = object_send(fs, at, what, kind);
	if (number)
		bpf_map_update_elem(&object_numbers, &key, &number, BPF_ANY);
	return number;
}

/* The number of the object that a file of a thread is; 0: it is not known. kind: of the record. */
static __always_inline __u32 object_of(struct task_struct *task, void *file, __u8 descriptor,
				       __u32 fd, __u32 kind)
{
	struct task_struct___object *more = (void *)task;

	/* read, so that it is a number: no pointer is passed on */
	return object_number((__u64)BPF_CORE_READ(more, fs), (__u64)file,
			     (__u64)descriptor << OBJECT_DESCRIPTOR_AT | fd, kind, task->tgid);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_SCHED_PATHS_H
#define BPF_SCHED_PATHS_H

/*
 * The path that a system call is given, as an object: open(2), rename(2) and the like have no
 * descriptor of what they wait for. The kernel has copied the path when the call began; here it is
 * read from the program's memory, as it is when the thread goes out. A path that is relative is
 * described with its directory.
 */
#include "bpf/sched/object.h"

/*
 * By number of the system call, of those with a path: which of its arguments are what, each as
 * PATH_ARGUMENT(): its number and one. Set before loading.
 */
const volatile __u16 path_calls[DESCRIPTOR_CALLS] __weak;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fs_struct___paths {
	struct path___object pwd;
};

struct task_struct___paths {
	struct fs_struct___paths *fs;
};

#pragma clang attribute pop

#define PATH_AT_CWD ((__u32)-100) /* linux/fcntl.h */

/* Of struct object_key, in place of a number */
#define OBJECT_GIVEN_KEY 0xfffffffe

/* The first four arguments of a system call. */
struct path_arguments {
	__u64 at[4];
};

/* What the call does not have is none. */
static __always_inline __u64 path_argument(const struct path_arguments *arguments, __u32 call,
					   __u32 shift, __u64 none)
{
	__u32 number = call >> shift & PATH_ARGUMENT_MASK;

	return number ? arguments->at[(number - 1) & 3] : none;
}

/* Where a path begins that is relative to a directory. False: it is none that is known. */
static __always_inline bool path_directory(struct object_climb *climb, struct task_struct *task,
					   __u32 descriptor)
{
	struct task_struct___paths *more = (void *)task;
	struct file___object *file;

	if (descriptor == PATH_AT_CWD) {
		climb->dentry = BPF_CORE_READ(more, fs, pwd.dentry);
		climb->mount = object_mount(BPF_CORE_READ(more, fs, pwd.mnt));
		return climb->dentry;
	}
	file = (void *)descriptor_of_number(task, descriptor);
	if (!file)
		return false;
	climb->dentry = BPF_CORE_READ(file, f_path.dentry);
	climb->mount = object_mount(BPF_CORE_READ(file, f_path.mnt));
	return climb->dentry;
}

struct path_hash {
	struct object_report *told;
	__u64 hash;
};

/* FNV-1a */
static long path_hash_step(__u32 i, void *context)
{
	struct path_hash *hash = context;

	OPAQUE(i);
	if (i >= OBJECT_TEXT_MAX)
		return 1;
	hash->hash = (hash->hash ^ (__u8)hash->told->text[i]) * 0x100000001b3ull;
	return 0;
}

/* One more path behind those that are there. False: there is none, or it cannot be read. */
static __always_inline bool path_read(struct object_report *told, __u64 argument)
{
	__u32 at = told->bytes;
	long size;

	OPAQUE(at);
	if (!argument || at > OBJECT_TEXT_MAX - OBJECT_GIVEN_MAX)
		return false;
	size = bpf_probe_read_user_str(&told->text[at], OBJECT_GIVEN_MAX, (void *)argument);
	if (size <= 1)
		return false;
	if (size == OBJECT_GIVEN_MAX)
		told->given_cut |= 1 << told->given;
	told->bytes = at + size;
	told->given++;
	return true;
}

static __always_inline bool path_is_relative(const struct object_report *told, __u32 at)
{
	OPAQUE(at);
	return at < OBJECT_TEXT_MAX && told->text[at] != '/';
}

/* Reads the paths; and where they begin, if they are relative. False: none is known. */
static __always_inline bool paths_read(struct object_report *told, struct object_climb *climb,
				       struct task_struct *task, __u32 call,
				       const struct path_arguments *arguments)
{
	__u32 first = path_argument(arguments, call, PATH_FIRST_AT, PATH_AT_CWD);
	__u32 second = path_argument(arguments, call, PATH_SECOND_AT, PATH_AT_CWD);
	bool is_relative, is_second_relative = false;
	__u32 bytes;

	if (!path_read(told, path_argument(arguments, call, PATH_FIRST, 0)))
		return false;
	is_relative = path_is_relative(told, 0);
	bytes = told->bytes;
	if (path_read(told, path_argument(arguments, call, PATH_SECOND, 0)))
		is_second_relative = path_is_relative(told, bytes);
	if (!is_relative && !is_second_relative)
		return true;
	told->given_elsewhere = is_relative && is_second_relative && first != second;
	return path_directory(climb, task, is_relative ? first : second);
}

/* The number of what was read, which user space gets if it is new. 0: that was lost. */
static __always_inline __u32 path_send(struct capture_scratch *scratch, struct object_report *told,
				       struct object_climb *climb, struct task_struct *task)
{
	struct path_hash hash = {.told = told, .hash = 0xcbf29ce484222325ull};
	struct object_key key = {
		.pid = task->tgid,
		.fd = OBJECT_GIVEN_KEY,
		.age = object_age(),
		.source = CAPTURE_SOURCE_SCHED,
	};
	struct task_struct___object *more = (void *)task;
	struct dentry___object *directory = climb->dentry;
	__u32 *known, number;

	bpf_loop(told->bytes, path_hash_step, &hash, 0);
	key.file = hash.hash;
	if (directory) {
		key.name = (__u64)directory ^ BPF_CORE_READ(directory, d_name.hash_len);
		key.mount = (__u64)climb->mount;
	}
	known = bpf_map_lookup_elem(&object_numbers, &key);
	if (known)
		return *known;
	number = __sync_fetch_and_add(&object_count, 1) + 1;
	if (directory)
		object_climb_from(told, climb, BPF_CORE_READ(more, fs));
	told->number = number;
	__builtin_memset(&scratch->record, 0, sizeof(scratch->record));
	scratch->record.head.kind = SCHED_OBJECT;
	scratch->record.head.time = bpf_ktime_get_ns();
	if (!capture_send_plain(scratch, OBJECT_WORDS(told->bytes)))
		return 0;
	bpf_map_update_elem(&object_numbers, &key, &number, BPF_ANY);
	return number;
}

/*
 * The number of the object that the paths of the current thread's system call are; 0: it has none,
 * or they are not known. call: its path_calls[]. Not static, so that the verifier looks at it
 * once.
 */
__weak __noinline int path_number(__u32 call, const struct path_arguments *arguments)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct object_climb climb = {};
	struct capture_scratch *scratch;
	struct object_report *told;
	__u32 number = 0;

	if (!arguments)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_SCHED, CAPTURE_WALKER_NONE);
	if (!scratch)
		return 0;
	told = (struct object_report *)scratch->frames;
	__builtin_memset(told, 0, __builtin_offsetof(struct object_report, text));
	told->descriptor = OFF_CPU_FD_PATH;
	climb.told = told;
	if (paths_read(told, &climb, task, call, arguments))
		number = path_send(scratch, told, &climb, task);
	capture_end(scratch);
	return number;
}

#endif

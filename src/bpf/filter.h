/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_FILTER_H
#define BPF_FILTER_H

/*
 * Which processes are meant. User space writes those that the user names; follow.bpf.c adds their
 * children and removes the dead.
 */

#include "bpf/filter_abi.h"
#include "bpf/kernel.h"

/* Set before loading. */
const volatile bool filter_everything __weak = true; /* the whole machine */
const volatile bool filter_by_thread __weak;	     /* threads are listed, not processes */
const volatile bool filter_ask __weak;	    /* user space decides on processes not listed */
const volatile bool filter_children __weak; /* children of what is meant are meant too */

/* Control groups of version 2 whose processes are meant, as the kernel names them. */
#define FILTER_CGROUPS 16

const volatile __u32 filter_cgroup_count __weak;
const volatile __u64 filter_cgroup_ids[FILTER_CGROUPS] __weak;
const volatile __s32 filter_cgroup_levels[FILTER_CGROUPS] __weak;

/* pid (or tid, with filter_by_thread) to enum filter_answer */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} filter_wanted SEC(".maps") __weak;

/*
 * The process of the command, until it executes that: it waits for its recorder then, and for
 * nothing that the command does. 0: there is none.
 */
__u32 filter_command __weak;

static __always_inline bool filter_waits_for_us(const struct task_struct *task)
{
	return filter_command && (__u32)task->tgid == filter_command;
}

static __always_inline bool filter_cgroup_current(void)
{
	__u32 i;

	for (i = 0; i < FILTER_CGROUPS && i < filter_cgroup_count; i++)
		if (bpf_get_current_ancestor_cgroup_id(filter_cgroup_levels[i]) ==
		    filter_cgroup_ids[i])
			return true;
	return false;
}

/* What user space has said of a process or thread. False: nothing yet. */
static __always_inline bool filter_is_decided(__u32 key, enum filter_answer *answer)
{
	const __u8 *known = filter_everything ? NULL : bpf_map_lookup_elem(&filter_wanted, &key);

	*answer = filter_everything || (known && *known == FILTER_YES) ? FILTER_YES : FILTER_NO;
	return filter_everything || known;
}

/* Of the current thread, whose numbers are known already. */
static __always_inline enum filter_answer filter_numbers(__u32 pid, __u32 tid)
{
	__u32 key = filter_by_thread ? tid : pid;
	enum filter_answer answer;

	if (filter_is_decided(key, &answer))
		return answer;
	if (filter_cgroup_current())
		return FILTER_YES;
	return filter_ask ? FILTER_ASK : FILTER_NO;
}

static __always_inline enum filter_answer filter_current(void)
{
	__u64 id = bpf_get_current_pid_tgid();

	return filter_numbers(id >> 32, (__u32)id);
}

#endif

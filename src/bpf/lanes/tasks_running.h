/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_TASKS_RUNNING_H
#define BPF_LANES_TASKS_RUNNING_H

/* Which task of asyncio a thread runs: tasks.bpf.c keeps that, and others ask for it. */
#include "bpf/lanes/lanes.h"
#include "bpf/lanes/tasks_abi.h"

/* Set before loading, if tasks have lanes; else there are no such maps. */
const volatile bool tasks_have_lanes __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TASKS_MAX);
	__type(key, struct lane_key);
	__type(value, struct tasks_state);
} tasks_states SEC(".maps") __weak;

/* What a thread does: addresses of tasks, and the stack pointers with which it will return. */
struct tasks_thread {
	__u64 runs, runs_sp;
	__u64 makes, makes_sp;
	__u32 has_run; /* a step was seen to begin, or to end */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tasks_thread);
} tasks_threads SEC(".maps") __weak;

/* The number of the one that the current thread runs; 0: none, or it is not known. */
static __always_inline __u64 tasks_running(void)
{
	struct tasks_state *state;
	struct tasks_thread *thread;
	struct lane_key key;

	if (!tasks_have_lanes)
		return 0;
	thread = bpf_task_storage_get(&tasks_threads, bpf_get_current_task_btf(), NULL, 0);
	if (!thread || !thread->runs)
		return 0;
	key = lane_key_of(thread->runs);
	state = bpf_map_lookup_elem(&tasks_states, &key);
	return state ? state->turn.number : 0;
}

#endif

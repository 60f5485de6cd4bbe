/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CALLS_GOROUTINES_H
#define BPF_CALLS_GOROUTINES_H

/*
 * Functions of Go programs run on goroutines: any thread goes on with one, and its stack is moved
 * when it has to grow. So a goroutine has a state of its own, found by the address of the runtime's
 * record, which Go's compiler keeps in r14 (since 1.17). Stack pointers are kept as distances
 * from the upper end of its stack.
 *
 * The runtime uses these records again for later goroutines: there are as many as there were at the
 * same time. They are forgotten with the process.
 */

#include "bpf/calls/stack.h"
#include "bpf/filter.h"

__u32 calls_tracks;	     /* handed out so far, CALLS_LANES for each thread and goroutine */
__u32 calls_goroutines_seen; /* some */

/* What a new one looks like. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls_thread);
} calls_new_goroutine SEC(".maps");

/* The first words of the runtime's g: the borders of its stack. */
struct goroutine_stack {
	__u64 low, high;
};

/*
 * Where the goroutine's stack pointer stands; 0: not a goroutine. *end: where its stack ends.
 */
static __always_inline __u64 goroutine_sp(__u64 g, __u64 sp, __u64 *end)
{
	struct goroutine_stack stack;

	if (bpf_probe_read_user(&stack, sizeof(stack), (const void *)g))
		return 0;
	if (sp <= stack.low || sp > stack.high)
		return 0;
	*end = stack.high;
	return GOROUTINE_STACK - (stack.high - sp);
}

static __always_inline struct calls_thread *new_goroutine(struct goroutine_key *key)
{
	struct calls_thread *t;
	__u32 zero = 0;

	t = bpf_map_lookup_elem(&calls_new_goroutine, &zero);
	if (!t)
		return NULL;
	bpf_map_update_elem(&calls_goroutines, key, t, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&calls_goroutines, key);
	if (!t) {
		capture_count_loss(CAPTURE_SOURCE_CALLS, CAPTURE_LOSS_CALL_NO_STACK);
		return NULL;
	}
	t->track = __sync_fetch_and_add(&calls_tracks, CALLS_LANES);
	calls_goroutines_seen = 1;
	t->goroutine = key->g;
	t->exec_id = key->exec_id;
	bpf_get_current_comm(t->comm, sizeof(t->comm));
	/* its one lane holds every stack pointer */
	t->lane_at[0].high = ~0ull;
	t->state = THREAD_WANTED;
	return t;
}

struct goroutine_loop {
	__u32 pid;
	__u64 now;
};

/* For bpf_for_each_map_elem(): the process ends. */
static long end_goroutine(struct bpf_map *map, const void *key, struct calls_thread *t,
			  struct goroutine_loop *loop)
{
	const struct goroutine_key *which = key;
	struct goroutine_key copy;

	if (which->pid != loop->pid)
		return 0;
	calls_pop_up_to(t, ~0ull, loop->now, CALLS_OPEN);
	forget_parts(t);
	calls_send_batch(t);
	copy = *which;
	bpf_map_delete_elem(map, &copy);
	return 0;
}

__noinline int calls_end_goroutines(__u32 pid)
{
	struct goroutine_loop loop = {pid, capture_now()};

	bpf_for_each_map_elem(&calls_goroutines, end_goroutine, &loop, 0);
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_KEPT_H
#define BPF_RUNTIME_KEPT_H

/*
 * What a runtime's step keeps for the naming of a frame: text that the program may have freed by
 * the time the frame is named. It is kept once for each key, the second word of the frame, so the
 * key must stand for the content. The oldest ones make room. (In user space nothing is kept.)
 */

#include "bpf/unwind/abi.h"

#ifdef __bpf__

/* Some more than there are different ones between two drains of the rings. */
#define KEPT_MAX 4096

struct unwind_kept {
	__u8 bytes[UNWIND_KEPT_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, KEPT_MAX);
	__type(key, __u64);
	__type(value, struct unwind_kept);
} runtime_kept SEC(".maps");

/* What a new one looks like: all zero, and never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_kept);
} runtime_kept_new SEC(".maps");

/* UNWIND_KEPT_BYTES to be filled in; null: that key is kept already, or there is no room. */
static __always_inline void *unwind_keep(__u64 key)
{
	const void *empty;
	__u32 zero = 0;

	if (bpf_map_lookup_elem(&runtime_kept, &key))
		return 0;
	empty = bpf_map_lookup_elem(&runtime_kept_new, &zero);
	if (!empty || bpf_map_update_elem(&runtime_kept, &key, empty, BPF_NOEXIST))
		return 0;
	return bpf_map_lookup_elem(&runtime_kept, &key);
}

#else

static __always_inline void *unwind_keep(__u64 key)
{
	(void)key;
	return 0;
}

#endif

#endif

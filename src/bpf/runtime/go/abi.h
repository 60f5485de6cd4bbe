/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_GO_ABI_H
#define BPF_RUNTIME_GO_ABI_H

/* What the kernel side knows of a process that runs Go, as src/runtime/go/go.c writes it. */

#include "bpf/unwind/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* The code of a function. */
struct go_range {
	__u64 start, end;
};

struct go_data {
	struct go_range all; /* all of these lie in it: most frames do not */
	struct go_range systemstack, asmcgocall, morestack, goexit;
	__s64 tls; /* where a thread keeps its g, from the thread pointer on */
	/* offsets in the runtime's records */
	__u32 g_m, g_sp, g_pc, g_bp, g_labels, m_curg;
	__u32 labels; /* enum go_labels; 0: how they lie in memory is not known */
	/*
	 * 1.20 and older: systemstack and asmcgocall have no frame of their own on the goroutine's
	 * stack
	 */
	__u32 frameless;
};

/*
 * A goroutine's labels are the only frame of Go's (all others are native code). Its first word says
 * nothing more, the second is what go_mix() makes of them; what they say is kept under it (kept.h).
 */
enum go_labels {
	GO_LABELS_MAP = 1, /* up to 1.23: map[string]string */
	GO_LABELS_LIST,	   /* []struct{key, value string} */
};

#define GO_LABELS_MAX 8	 /* pairs that are looked at */
#define GO_TEXT_MAX   63 /* bytes of a key or a value, likewise */

/* Key, value, key, value … */
struct go_kept {
	__u64 count; /* of labels, of which up to GO_LABELS_MAX are here */
	__u32 length[2 * GO_LABELS_MAX];
	__u8 text[2 * GO_LABELS_MAX][GO_TEXT_MAX + 1];
};

struct go_string {
	__u64 at, length;
};

/*
 * A map of up to 8 entries is one bucket: their hashes, 8 keys, 8 values (runtime/map.go up to
 * 1.23).
 */
#define GO_MAP_KEYS   8
#define GO_MAP_VALUES 136
#define GO_MAP_USED   5 /* the least hash of a place that is in use */

struct go_map {
	__u64 count;
	__u8 flags, log_buckets;
	__u16 overflows;
	__u32 seed;
	__u64 buckets;
};

static __always_inline __u64 go_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_MEM_HEAP_ABI_H
#define BPF_MEM_HEAP_ABI_H

/* What mem_heap.bpf.c tells of allocations. */

#include "capture_abi.h"

enum {
	/*
	 * An allocation: a capture_record. Its value is the bytes that were asked for (with
	 * MEM_HEAP_UNFOLLOWED), its key the address. Behind its frames, a word: the mean bytes
	 * between samples of that process.
	 */
	MEM_HEAP_ALLOC = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 0),
	MEM_HEAP_FREE = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 1), /* a struct mem_heap_free */
};

/* With the value: its free() will not be seen. */
#define MEM_HEAP_UNFOLLOWED (1ull << 63)

/* What is seen at a probe: its cookie. */
enum mem_heap_place {
	MEM_HEAP_PLACE_ALLOC = 1, /* rdi: the address; rdx: the bytes; rsi: see above */
	MEM_HEAP_PLACE_FREE = 2,  /* rdi: the address */
	MEM_HEAP_PLACE_LOST = 3,  /* a free() that could not be seen in time */
	MEM_HEAP_PLACES
};

/* An address is given back. */
struct mem_heap_free {
	struct capture_head head;
	__u64 address;
	__u32 pid;
	__u32 undecided; /* as in a record's identity */
	char comm[16];
};

#endif

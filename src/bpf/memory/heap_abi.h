/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_MEMORY_HEAP_ABI_H
#define BPF_MEMORY_HEAP_ABI_H

/* What memory/heap.bpf.c tells of allocations. */

#include "bpf/capture/abi.h"

enum {
	/*
	 * An allocation: a capture_record. Its value is the bytes that were asked for (with
	 * MEM_HEAP_UNFOLLOWED), its key the address. Behind its frames, a word: the mean bytes
	 * between samples of that process.
	 */
	MEM_HEAP_ALLOC = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 0),
	MEM_HEAP_FREE = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 1), /* a struct mem_heap_free */
	/* a capture_head: probes of running processes have taken as much time as they may */
	MEM_HEAP_SPENT = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 2),
	/*
	 * A Java object: a capture_record. Its value is the bytes that it stands for before
	 * sampling, its key the address of its class. Behind its frames, two words: the mean bytes
	 * between samples, and the bytes of the object itself.
	 */
	MEM_HEAP_OBJECT = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 3),
	/*
	 * A Java object that the JVM has sampled, with a name of its own, by which its end is
	 * reported: a capture_record. Its value is the object's bytes, its key the name. Behind its
	 * frames, the mean bytes between samples, and its class's signature, in
	 * MEM_HEAP_CLASS_BYTES, which ends with a zero byte.
	 */
	MEM_HEAP_HELD = CAPTURE_KIND(CAPTURE_SOURCE_MEM_HEAP, 4),
};

/* With the value: its free() will not be seen. */
#define MEM_HEAP_UNFOLLOWED  (1ull << 63)

#define MEM_HEAP_CLASS_BYTES 128

/* What is seen at a probe: its cookie. */
enum mem_heap_place {
	MEM_HEAP_PLACE_ALLOC = 1, /* rdi: the address; rdx: the bytes; rsi: see above */
	MEM_HEAP_PLACE_FREE = 2,  /* rdi: the address */
	MEM_HEAP_PLACE_KEPT = 4,  /* rdi: an address that was reported as freed, and was not */
	/* rdi: a name of its own; rsi: mean bytes between samples; rdx: its bytes; rcx: the
	 * signature of its class, or 0 */
	MEM_HEAP_PLACE_OBJECT = 5,
	MEM_HEAP_PLACES
};

/*
 * What is called where a probe of a running process stands: its cookie, with the bits below. Sizes
 * are arguments.
 */
enum mem_heap_call {
	MEM_HEAP_CALL_SIZE = 1, /* malloc(size) */
	MEM_HEAP_CALL_COUNT,	/* calloc(count, size) */
	MEM_HEAP_CALL_AGAIN,	/* realloc(address, size) */
	MEM_HEAP_CALL_ALIGNED,	/* aligned_alloc(alignment, size) */
	MEM_HEAP_CALL_TO,	/* posix_memalign(to, alignment, size) */
	/* of HotSpot: (class, object, bytes of the buffer, bytes of the object), */
	MEM_HEAP_CALL_BUFFER,
	MEM_HEAP_CALL_OBJECT, /* and (class, object, bytes of the object) */
	/* of Go: refill(cache, class of a span), and allocLarge(cache, size, …) */
	MEM_HEAP_CALL_SPAN,
	MEM_HEAP_CALL_LARGE,
};
#define MEM_HEAP_CALL_MASK 0xff
/* realloc() of nothing, and small alignments, come by the probe of malloc(), too */
#define MEM_HEAP_CALL_NESTS 0x100
/* Microseconds that a hit takes, about. */
#define MEM_HEAP_CALL_COST(us)	      ((__u64)(us) << 16)
#define MEM_HEAP_CALL_COST_OF(cookie) ((cookie) >> 16)

/* What hits take is counted apart, of each of these. */
enum mem_heap_budget {
	MEM_HEAP_BUDGET_MALLOC,
	MEM_HEAP_BUDGET_JAVA,
	MEM_HEAP_BUDGET_GO,
	MEM_HEAP_BUDGETS
};

/* Bytes between two samples are one of this many numbers, each as likely as the others. */
#define MEM_HEAP_DRAWS 1024

/*
 * The cookie of a probe of OpenTelemetry's: three arguments (of free: one) of that many bits, each
 * a register's number, whether it is memory at a distance from that register, and whether it has 4
 * bytes.
 */
#define MEM_HEAP_USDT_BITS     20
#define MEM_HEAP_USDT_REGISTER 15u
#define MEM_HEAP_USDT_MEMORY   16u
#define MEM_HEAP_USDT_SHORT    32u
#define MEM_HEAP_USDT_DISTANCE 6 /* bits from there on, more than this by: */
#define MEM_HEAP_USDT_FAR      8192
#define MEM_HEAP_USDT_FREE     (1ull << 63)

/* An address is given back. */
struct mem_heap_free {
	struct capture_head head;
	__u64 address;
	__u32 pid;
	__u32 undecided; /* as in a record's identity */
	__u32 is_kept;	 /* it was said to be, and was not */
	__u32 unused;
	char comm[16];
};

#endif

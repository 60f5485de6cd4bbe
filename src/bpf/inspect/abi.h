/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_ABI_H
#define BPF_INSPECT_ABI_H

/*
 * Calls with their values. One program serves all probes. A plan says what it reads at a probe: a
 * short list of steps that user space derives from the types of the values. The kernel side knows
 * no types: it copies bytes and their addresses.
 *
 * The data is in one buffer: first the registers, then an item with bytes for each step that read
 * something. A step finds its pointer in the registers or in the bytes of an earlier step.
 */

#include "bpf/capture/abi.h"

#define INSPECT_STEPS_MAX 64
#define INSPECT_PLANS_MAX 4096

/*
 * Registers by DWARF number; then the canonical frame address, as computed by the plan; the first
 * argument at the call's entry, which is the address of a result in memory; and the address of the
 * probe.
 */
#define INSPECT_REGISTERS      19
#define INSPECT_CFA	       16
#define INSPECT_RESULT	       17
#define INSPECT_IP	       18
#define INSPECT_REGISTER_BYTES (INSPECT_REGISTERS * 8u)

#define INSPECT_BYTES_MAX      8192u /* of the buffer; a power of two */
#define INSPECT_READ_MAX       4096u /* of one item */
#define INSPECT_EACH_MAX       64u   /* items of one step */
#define INSPECT_NODES_MAX      64u   /* nodes of CHAIN and ORDER */
#define INSPECT_DESCEND_MAX    16u   /* levels of DESCEND */
#define INSPECT_TEXT_MAX       512u
#define INSPECT_CONSTANTS      16u

/* Most open calls whose ends are awaited. */
#define INSPECT_OPEN_MAX 65536

enum inspect_step_kind {
	INSPECT_READ = 1, /* size bytes at pointer + displacement */
	/* a number of elements of size bytes, given by a length, up to max bytes */
	INSPECT_ARRAY,
	INSPECT_TEXT,	   /* up to a zero byte, at most max bytes */
	INSPECT_TEST,	   /* compares width bytes with a constant, and jumps */
	INSPECT_TEST_TEXT, /* the same for the bytes of an earlier step */
	/*
	 * a linked list: nodes of size bytes, concatenated in one item. Each has a pointer to the
	 * next one at displacement. Ends after the number given by a length, at the end of the
	 * list, or after max bytes
	 */
	INSPECT_CHAIN,
	/*
	 * the same for the nodes of a binary tree in order: a node has pointers to its left and
	 * right child at displacement, and to its parent at width
	 */
	INSPECT_ORDER,
	INSPECT_SUM, /* a word: pointer + size * length + displacement */
	/* a word: the result of following the pointer at displacement as often as a length says */
	INSPECT_DESCEND,
};

enum inspect_step_flag {
	/* the source is an array whose elements are displacement bytes apart: one item each */
	INSPECT_EACH = 1,
	INSPECT_LENGTH_IS_END = 2, /* for ARRAY: the length is a pointer to the end */
	/* the length is a byte: the binary logarithm of the number of elements */
	INSPECT_LENGTH_IS_POWER = 4,
	INSPECT_SIGNED = 8, /* for TEST */
	INSPECT_LENGTH_IS_U32 = 16,
	INSPECT_LENGTH_IS_MASK = 32, /* the number read is the length - 1 */
	INSPECT_BACKWARD = 64,	     /* for ARRAY: it ends at the pointer */
	INSPECT_NO_LENGTH = 128,     /* for CHAIN */
};

enum inspect_compare {
	INSPECT_EQUAL,
	INSPECT_NOT_EQUAL,
	INSPECT_LESS,
	INSPECT_AT_MOST,
	INSPECT_MORE,
	INSPECT_AT_LEAST,
};

#define INSPECT_FROM_REGISTERS 255
/* Instead of the number of a step in a test: the call is dropped. */
#define INSPECT_REJECT 255

struct inspect_step {
	__u8 kind, from, flags;
	/*
	 * TEST: number of bytes; TEST_TEXT: enum inspect_compare; EACH: most elements, 0:
	 * INSPECT_EACH_MAX
	 */
	__u8 width;
	__u16 offset;	    /* offset of the pointer, or of the compared bytes, in the source */
	__u16 length_at;    /* offset in the source; TEST: enum inspect_compare */
	__u16 size;	    /* TEST: number of the constant; TEST_TEXT: bytes */
	__u16 max;	    /* tests: next step if true, and << 8 if false */
	__s32 displacement; /* TEST_TEXT: offset in the plan's text */
};

enum inspect_site {
	INSPECT_SITE_ENTRY,
	INSPECT_SITE_RET,
	INSPECT_SITE_JUMP,   /* the function ends with a jump to another one: no result */
	INSPECT_SITE_ALONE,  /* a place without an end to wait for */
	INSPECT_SITE_RETURN, /* the kernel's return probe: the call has returned */
};

struct inspect_plan {
	__u32 function;
	__u8 site;
	__u8 is_go; /* a register has the address of the goroutine's g */
	__u8 cfa_register;
	__u8 steps;
	__s32 cfa_offset;
	__u32 goid_at;	       /* offset of its number in the g */
	__u32 interval;	       /* average ns between recorded calls; 0: record all */
	__u32 traced;	       /* trace --args: the tracer's number of the function */
	__u32 needs_result_at; /* for results: INSPECT_RESULT must be known */
	__u32 unused;
	__u64 constants[INSPECT_CONSTANTS];
	struct inspect_step step[INSPECT_STEPS_MAX];
	__u8 text[INSPECT_TEXT_MAX];
};

/* Size of the token bucket: the calls of this time may come at once. */
#define INSPECT_BURST_NS 100000000ull

enum inspect_status {
	INSPECT_OK,
	INSPECT_NIL,
	INSPECT_TRUNCATED, /* there are more elements than the limit */
	INSPECT_NOT_RESIDENT,
	INSPECT_FULL, /* the buffer is full */
};

/* The header of an item. Its bytes follow, padded to a multiple of 8. */
struct inspect_item {
	__u16 step;
	__u16 index; /* for INSPECT_EACH: number of the element */
	__u16 size;
	__u8 status; /* enum inspect_status */
	__u8 unused;
	__u64 address;
	__u64 length; /* ARRAY, CHAIN and ORDER: number of elements in the target */
};

enum {
	CAPTURE_INSPECT = CAPTURE_KIND(CAPTURE_SOURCE_INSPECT, 0),
	/* the stack of the call whose record follows: a struct capture_record */
	CAPTURE_INSPECT_STACK = CAPTURE_KIND(CAPTURE_SOURCE_INSPECT, 1),
};

/* trace --args: content of a record of a traced call. */
enum inspect_end {
	INSPECT_BEGINS,	 /* its arguments */
	INSPECT_RETURNS, /* its results; ip is the address of the tracer's entry probe */
	INSPECT_LEAVES,	 /* no values: it jumped to a function that returns in its place */
};

/* The beginning or the end of a call. The buffer follows. */
struct inspect_record {
	struct capture_head head;
	struct capture_identity identity;
	__u64 goroutine; /* number of the goroutine; 0: none */
	/*
	 * identifies the frame: distance from the upper end of a goroutine's stack, or the frame
	 * address
	 */
	__u64 frame;
	__u64 start; /* time at which the call began */
	__u64 ip;
	__u32 plan;
	/* trace --args: the tracer's call that began at start (calls/abi.h) */
	__u32 track, depth;
	__u32 end; /* enum inspect_end */
};

#endif

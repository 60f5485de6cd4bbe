/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_ABI_H
#define BPF_INSPECT_ABI_H

/*
 * Calls with their values. One program serves all probes: what it takes at a probe is said by a
 * plan, a short list of steps that user space makes of the types of the values there. The kernel
 * side knows no types: it copies bytes, and where they came from.
 *
 * What is taken lies in one buffer: first the registers, then, for each step that read something,
 * an item with its bytes. A step finds the pointer that it follows in the registers or in the bytes
 * of an earlier step.
 */

#include "bpf/capture/abi.h"

#define INSPECT_STEPS_MAX 64
#define INSPECT_PLANS_MAX 4096

/*
 * DWARF's numbers of registers; then the canonical frame address, computed by the plan; rdi as it
 * was when the call began: where a result in memory goes; and the address of the probe.
 */
#define INSPECT_REGISTERS      19
#define INSPECT_CFA	       16
#define INSPECT_RESULT	       17
#define INSPECT_IP	       18
#define INSPECT_REGISTER_BYTES (INSPECT_REGISTERS * 8u)

#define INSPECT_BYTES_MAX      8192u /* of the buffer; a power of two */
#define INSPECT_READ_MAX       4096u /* of one item */
#define INSPECT_EACH_MAX       64u   /* items of one step */
#define INSPECT_NODES_MAX      64u   /* of CHAIN and ORDER */
#define INSPECT_DESCEND_MAX    16u   /* levels of DESCEND */
#define INSPECT_TEXT_MAX       512u
#define INSPECT_CONSTANTS      16u

/* Calls that can be open at the same time, whose ends are waited for. */
#define INSPECT_OPEN_MAX 65536

enum inspect_step_kind {
	INSPECT_READ = 1,  /* size bytes at pointer + displacement */
	INSPECT_ARRAY,	   /* as many elements of size bytes as a length says, up to max bytes */
	INSPECT_TEXT,	   /* up to a zero byte, at most max bytes */
	INSPECT_TEST,	   /* compares width bytes with a constant, and jumps */
	INSPECT_TEST_TEXT, /* the same for the bytes of an earlier step */
	/*
	 * nodes of size bytes, one behind the other in one item: each has the pointer to the next
	 * one at displacement; up to as many as a length says, to the end, or max bytes
	 */
	INSPECT_CHAIN,
	/*
	 * the same of the nodes of a tree in order, from the first one on: at displacement, a node
	 * has pointers to the left and to the right one, and at width to the one above
	 */
	INSPECT_ORDER,
	INSPECT_SUM, /* a word: the pointer, size times the length, and displacement */
	/* a word: the pointer at displacement, followed as often as a length says */
	INSPECT_DESCEND,
};

enum inspect_step_flag {
	/*
	 * the source is an array, of elements that are displacement bytes apart: one item for each
	 */
	INSPECT_EACH = 1,
	INSPECT_LENGTH_IS_END = 2,   /* of ARRAY: the length is a pointer to the end */
	INSPECT_LENGTH_IS_POWER = 4, /* a byte: the logarithm of the number of elements */
	INSPECT_SIGNED = 8,	     /* of TEST */
	INSPECT_LENGTH_IS_U32 = 16,
	INSPECT_LENGTH_IS_MASK = 32, /* the length less one */
	INSPECT_BACKWARD = 64,	     /* of ARRAY: it ends where the pointer leads to */
	INSPECT_NO_LENGTH = 128,     /* of CHAIN */
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
/* Where a test can jump, beside other steps: the call is not kept. */
#define INSPECT_REJECT 255

struct inspect_step {
	__u8 kind, from, flags;
	/*
	 * of TEST: bytes; of TEST_TEXT: enum inspect_compare; of EACH: at most that many
	 * elements; 0: INSPECT_EACH_MAX
	 */
	__u8 width;
	__u16 offset;	    /* in the source: of the pointer, or of what is compared */
	__u16 length_at;    /* in the source; of TEST: enum inspect_compare */
	__u16 size;	    /* of TEST: number of the constant; of TEST_TEXT: bytes */
	__u16 max;	    /* of tests: where to go on if true, and << 8 if not */
	__s32 displacement; /* of TEST_TEXT: where in the plan's text */
};

enum inspect_site {
	INSPECT_SITE_ENTRY,
	INSPECT_SITE_RET,
	INSPECT_SITE_JUMP,   /* the function ends by a jump to another one: there is no result */
	INSPECT_SITE_ALONE,  /* a place whose end is not waited for */
	INSPECT_SITE_RETURN, /* the kernel's return probe: the call has returned */
};

struct inspect_plan {
	__u32 function;
	__u8 site;
	__u8 is_go; /* r14 is the goroutine's record */
	__u8 cfa_register;
	__u8 steps;
	__s32 cfa_offset;
	__u32 goid_at;	       /* in the goroutine's record */
	__u32 interval;	       /* ns between calls that are kept, on average; 0: all are */
	__u32 traced;	       /* trace --args: the tracer's number of the function */
	__u32 needs_result_at; /* of results: INSPECT_RESULT must be known */
	__u32 unused;
	__u64 constants[INSPECT_CONSTANTS];
	struct inspect_step step[INSPECT_STEPS_MAX];
	__u8 text[INSPECT_TEXT_MAX];
};

/* Calls of this time can come at once: so much a bucket of tokens holds. */
#define INSPECT_BURST_NS 100000000ull

enum inspect_status {
	INSPECT_OK,
	INSPECT_NIL,
	INSPECT_TRUNCATED, /* more elements than are taken */
	INSPECT_NOT_RESIDENT,
	INSPECT_FULL, /* the buffer is */
};

/* Before the bytes of an item, which are padded to 8. */
struct inspect_item {
	__u16 step;
	__u16 index; /* of steps for each element */
	__u16 size;
	__u8 status; /* enum inspect_status */
	__u8 unused;
	__u64 address;
	__u64 length; /* elements that there are, of ARRAY, CHAIN and ORDER */
};

enum {
	CAPTURE_INSPECT = CAPTURE_KIND(CAPTURE_SOURCE_INSPECT, 0),
	/* from where the call of the record behind it was made: a struct capture_record */
	CAPTURE_INSPECT_STACK = CAPTURE_KIND(CAPTURE_SOURCE_INSPECT, 1),
};

/* trace --args: what a record of a call that the tracer sees holds. */
enum inspect_end {
	INSPECT_BEGINS,	 /* its arguments; */
	INSPECT_RETURNS, /* its results: ip is that of the tracer's probe where it began; */
	INSPECT_LEAVES,	 /* none: it has jumped to a function that returns in its place */
};

/* One end of a call; behind it the buffer. */
struct inspect_record {
	struct capture_head head;
	struct capture_identity identity;
	__u64 goroutine; /* its number; 0: none */
	/* of the frame: distance from the upper end of a goroutine's stack, or the frame address */
	__u64 frame;
	__u64 start; /* when the call began */
	__u64 ip;
	__u32 plan;
	/* trace --args: the call as the tracer has it, which began at start (calls/abi.h) */
	__u32 track, depth;
	__u32 end; /* enum inspect_end */
};

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_ABI_H
#define BPF_RUNTIME_HOTSPOT_ABI_H

/*
 * What the kernel side knows of a process that runs HotSpot, as src/runtime/hotspot/hotspot.c
 * writes it.
 */

#include "bpf/unwind/abi.h"

/* A part of the code cache, and the map that leads from an address in it to the blob there. */
struct hotspot_heap {
	__u64 start, end; /* of what is reserved for it */
	__u64 segmap;	  /* one byte for each segment */
	__u32 shift;	  /* a segment has 1 << shift bytes */
	__u32 header;	  /* bytes of a block before its blob */
};

#define HOTSPOT_HEAPS_MAX 8

/* How much of a ConstMethod is read: a power of two. */
#define HOTSPOT_CONST_METHOD 64

/*
 * A field of a blob is at byte `at` of what is read, `size` bytes long; size 0: this version
 * has none.
 */
struct hotspot_field {
	__u16 at, size;
};

enum hotspot_field_number {
	HOTSPOT_NAME, /* pointer to its name */
	HOTSPOT_KIND, /* CodeBlobKind; without it, the name tells what is an nmethod */
	HOTSPOT_CODE, /* where the code begins: an address, or an offset from the blob's own */
	HOTSPOT_FRAME_SIZE, /* in words, with the return address; 0: it has no frame of its own */
	/* offset in the code from which on the frame is set up; negative: never */
	HOTSPOT_FRAME_COMPLETE,
	HOTSPOT_COMPILE_ID,
	HOTSPOT_LEVEL,
	/* offset from the stack pointer where a deoptimized frame keeps its pc */
	HOTSPOT_ORIGINAL_PC,
	HOTSPOT_DEOPT, /* what replaces the return address then: as HOTSPOT_CODE */
	HOTSPOT_DEOPT_MH,
	HOTSPOT_FIELDS
};

/*
 * An entry of the interpreter that makes a frame, in offsets in the interpreter's code: behind
 * `pop` the return address is in rax, at `enter` it is on the stack again and rbp is about to be
 * pushed, from `framed` on the frame has its method. Entries that make no frame are one until
 * `framed`, with pop and enter the same.
 */
struct hotspot_entry {
	__u32 start, pop, enter, framed;
};

#define HOTSPOT_ENTRIES_MAX 16

/* Frames' variants (word 0) and what belongs to them. Word 0's value and word 1: */
enum hotspot_variant {
	HOTSPOT_INTERPRETED, /* Method*; bytecode index in 16 bits, checksum in 48 */
	HOTSPOT_C1,	     /* nmethod; offset in the code in 32 bits, compile id in 32 */
	HOTSPOT_C2,	     /* the same */
	HOTSPOT_NATIVE,	     /* the same: the wrapper of a native method */
	HOTSPOT_STUB,	     /* blob; offset in the code, low 32 bits of the address of its name */
};

/* How much of a Symbol's text is read: names of classes that are generated differ in their ends. */
#define HOTSPOT_TEXT 64

struct hotspot_symbol {
	__u64 words[1 + HOTSPOT_TEXT / 8]; /* from its address on */
};

/*
 * What a Symbol says: adds it to a sum. Without branches, which the verifier would follow one by
 * one.
 */
static inline __attribute__((always_inline)) __u64
hotspot_add_symbol(__u64 sum, const struct hotspot_symbol *s, __u32 length_at, __u32 body_at)
{
	__s32 length = s->words[0] >> (length_at & 7) * 8 & 0xffff, missing;
	__u32 shift = (8 - body_at) * 8 & 63, i;
	__u64 text;

	sum = sum * 31 + length;
	for (i = 1; i <= HOTSPOT_TEXT / 8; i++) {
		text = s->words[i] << shift | s->words[i - 1] >> 1 >> (63 - shift);
		/* this many of its bytes stand behind the text's end */
		missing = 8 - unwind_positive(8 - unwind_positive((__s32)(8 * i) - length));
		sum = (sum ^ text << missing * 4 << missing * 4) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 32;
	}
	return sum;
}

/*
 * What tells a method from another one that lies at the same place later: the upper 48 bits of an
 * interpreted frame. names: hotspot_add_symbol() of the method's and its class's.
 */
static inline __u64 hotspot_checksum(__u64 const_method, __u64 constants, __u16 code_size,
				     __u16 name_index, __u64 names)
{
	__u64 sum = const_method >> 3;

	sum = sum * 31 + (constants >> 3);
	sum = sum * 31 + code_size;
	sum = sum * 31 + name_index;
	sum = (sum ^ names) * 0x9e3779b97f4a7c15ull;
	return (sum ^ sum >> 24) & ((1ull << 48) - 1);
}

struct hotspot_data {
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
	__u64 code_start, code_end;		  /* of all heaps */
	__u64 interpreter_start, interpreter_end; /* the interpreter's code */
	__u64 call_stub; /* where Java returns to when native code has called it */
	__u64 entry_return, return_barrier; /* of continuations: see hotspot.h; 0: none */
	struct hotspot_entry entries[HOTSPOT_ENTRIES_MAX];
	__u32 entry_count;
	__u32 blob_from, blob_bytes; /* what is read of a blob */
	/*
	 * In the block that a blob lies in: how many segments it has, and whether it is used (a
	 * byte).
	 */
	struct hotspot_field block_length, block_used; /* size 0: not known */
	struct hotspot_field fields[HOTSPOT_FIELDS];
	__u8 code_is_offset; /* HOTSPOT_CODE and HOTSPOT_DEOPT are offsets */
	__u8 nmethod_kind;   /* value of HOTSPOT_KIND for an nmethod */
	/* words below rbp where an interpreted frame keeps its place in the bytecode */
	__u8 bcp_slot;
	__u8 symbol_length, symbol_body;	/* of Symbol; body: 1 to 8 */
	__u32 const_method;			/* Method::_constMethod */
	__u32 const_method_size;		/* the bytecode begins behind it */
	__u32 constants, code_size, name_index; /* of ConstMethod */
	__u32 pool_size, pool_holder;		/* of ConstantPool; its constants stand behind it */
	__u32 class_name;			/* of Klass */
	/* Where the anchor is of a thread that is in native code (hotspot/restart.h): */
	__s32 thread; /* the JavaThread's address, from the thread pointer; 0: not known */
	__u32 thread_os, os_id; /* JavaThread::_osthread, OSThread::_pthread_id */
	__u32 thread_anchor;	/* JavaThread::_anchor */
	__s32 wrapper; /* the JavaCallWrapper's address, from the call stub's rbp; 0: not known */
	__u32 wrapper_anchor;		       /* JavaCallWrapper::_anchor */
	__u32 anchor_sp, anchor_pc, anchor_fp; /* of JavaFrameAnchor */
};

#endif

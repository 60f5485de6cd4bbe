/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_LUAJIT_PLACE_H
#define BPF_RUNTIME_LUAJIT_PLACE_H

/*
 * What a frame of LuaJIT says of itself and of what it calls, and the checksum of all that these
 * names are made of.
 *
 * A function's name stands in its caller's byte code: the instruction that has loaded what is
 * called names a constant string, an upvalue or a local variable (lj_debug.c). Functions, and the
 * strings that name them, may be freed and their memory used again, with all sizes and addresses as
 * before, between a sample and the reading of its names. So the checksum has the numbers and hashes
 * of strings (lj_obj.h, GCstr: each string gets a number of its own, its hash is made of its
 * content) and their first bytes. Both the kernel side and user space make it by this source.
 *
 * Names of variables lie in the prototype itself: the first LUAJIT_INFO bytes of them are part of
 * the checksum.
 *
 * A file that includes it defines before LUAJIT_FROM, what memory is read from, and
 *
 *	long luajit_get(LUAJIT_FROM *from, void *to, __u32 size, __u64 address)	0: it was read
 *	__u64 luajit_recall(LUAJIT_FROM *from, __u64 key)	what was remembered for it in this
 *								stack; 0: nothing
 *	void luajit_remember(LUAJIT_FROM *from, __u64 key, __u64 value)
 *	LUAJIT_APART		as UNWIND_APART
 *	long luajit_repeat(__u32 count, long (*step)(__u32 i, void *context), void *context)	as
 *												unwind_repeat()
 */

#include "bpf/runtime/luajit/abi.h"

/* lj_bc.h, BCDEF; what came later stands behind these */
enum luajit_op {
	BC_ISEQV = 4,
	BC_ISTC = 12,
	BC_ISFC = 13,
	BC_MOV = 18,
	BC_UNM = 20,
	BC_LEN = 21,
	BC_ADDVN = 22,
	BC_POW = 37,
	BC_CAT = 38,
	BC_KPRI = 43,
	BC_KNIL = 44,
	BC_UGET = 45,
	BC_FNEW = 51,
	BC_GGET = 54,
	BC_GSET = 55,
	BC_TGETV = 56,
	BC_TGETS = 57,
	BC_TGETR = 59,
	BC_TSETV = 60,
	BC_TSETM = 63,
	BC_TSETR = 64,
	BC_CALLM = 65,
	BC_CALLT = 68,
	BC_ITERC = 69,
	BC_ITERN = 70,
	BC_RETM = 73,
	BC_FORI = 77,
	BC_JITERL = 84,
};

/* gct of an object: the complement of its type, lj_obj.h */
#define LUAJIT_STRING	   4
#define LUAJIT_THREAD	   6
#define LUAJIT_PROTO	   7
#define LUAJIT_FUNCTION	   8
#define LUAJIT_PROTO_SIZE  104

#define LUAJIT_NEAR	   48 /* instructions before a call in which its function is looked for */
#define LUAJIT_TEXT	   40 /* bytes of a string, which stand behind this many others: */
#define LUAJIT_STRING_HEAD 24
#define LUAJIT_INFO	   128 /* bytes of names of variables */

/* Words of a GCproto (lj_obj.h, with 64-bit references). */
enum {
	LUAJIT_PROTO_HEAD = 1, /* from 16 bits on: numparams, framesize, sizebc */
	LUAJIT_PROTO_K = 4,
	LUAJIT_PROTO_SIZES = 6, /* sizekgc, sizekn */
	LUAJIT_PROTO_TOTAL = 7, /* sizept, sizeuv; flags and trace change */
	LUAJIT_PROTO_CHUNKNAME = 8,
	LUAJIT_PROTO_LINES = 9, /* firstline, numline */
	LUAJIT_PROTO_LINEINFO = 10,
	LUAJIT_PROTO_UVINFO = 11,
	LUAJIT_PROTO_VARINFO = 12,
	LUAJIT_PROTO_WORDS = 13,
};

/*
 * A prototype lies in one piece with its instructions, constants and lines. A read has its price,
 * nearly the same for any length, so it begins in front of the prototype, where the instructions
 * before one of its first ones would be, and ends where most functions have ended.
 */
#define LUAJIT_BEFORE_WORDS (LUAJIT_NEAR / 2)
#define LUAJIT_BEHIND_WORDS 43
#define LUAJIT_WINDOW_BYTES (8 * (LUAJIT_BEFORE_WORDS + LUAJIT_PROTO_WORDS + LUAJIT_BEHIND_WORDS))

/* Far away from all addresses of programs. */
#define LUAJIT_NOWHERE (1ull << 63)

/* What is read; it is too large for the stack of a BPF program. */
struct luajit_place {
	/*
	 * from here on LUAJIT_WINDOW_BYTES of memory at `from`; only proto, if that is
	 * LUAJIT_NOWHERE
	 */
	__u64 before[LUAJIT_BEFORE_WORDS];
	__u64 proto[LUAJIT_PROTO_WORDS];
	__u64 behind[LUAJIT_BEHIND_WORDS];
	__u64 from;
	__u64 text[2 + LUAJIT_TEXT / 8]; /* a GCstr without its first word */
	__u64 info[LUAJIT_INFO / 8];
	/* up to the place's own instruction, if they are not in the window */
	__u32 code[LUAJIT_NEAR];
};

#define LUAJIT_PLACE_CODES (sizeof(struct luajit_place) / sizeof(__u32))

struct luajit_found {
	__u64 check;   /* 44 bits */
	__u32 first;   /* line of the function */
	__u32 line;    /* of the place */
	__u32 op, how; /* the place's instruction; enum luajit_callee */
	__u32 slot;    /* which variable that instruction is about (A) */
	/* LUAJIT_CALLS_CONSTANT, VARIABLE: the instruction that has loaded the function */
	__u32 setter;
	__u32 ago; /* this many instructions before */
};

/* Looks back for what has loaded the function that is called. */
struct luajit_scan {
	const struct luajit_place *p;
	/* the place's own instruction: this many units of 4 bytes from the beginning of *p */
	__u32 last;
	__u32 slot, place;
	__u32 setter, ago; /* 0: none was found */
};

static __always_inline int luajit_sets_one(__u32 op)
{
	return op == BC_ISTC || op == BC_ISFC || (op >= BC_MOV && op <= BC_KPRI) || op == BC_UGET ||
	       (op >= BC_FNEW && op <= BC_GGET) || (op >= BC_TGETV && op <= BC_TGETR);
}

static __always_inline int luajit_sets_from(__u32 op)
{
	return op == BC_KNIL || op == BC_TSETM || (op >= BC_CALLM && op <= BC_RETM) ||
	       (op >= BC_FORI && op <= BC_JITERL);
}

/* For luajit_repeat(). */
static long luajit_look(__u32 i, void *context)
{
	struct luajit_scan *scan = context;
	__u32 ago = i + 1, at = scan->last - ago, ins, op, a;

	/* the verifier forgets what the compiler knows */
	asm volatile("" : "+r"(at));
	/* what stands at 0 is the function's head */
	if (at >= LUAJIT_PLACE_CODES || ago >= scan->place)
		return 1;
	ins = ((const __u32 *)scan->p)[at];
	op = ins & 0xff;
	a = ins >> 8 & 0xff;
	if (luajit_sets_from(op) && scan->slot >= a && (op != BC_KNIL || scan->slot <= ins >> 16))
		return 1;
	if (!luajit_sets_one(op) || a != scan->slot)
		return 0;
	scan->setter = ins;
	scan->ago = ago;
	return 1;
}

static __always_inline __u64 luajit_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* A word of the window, by its address. False: it is not there. */
static __always_inline int luajit_near(const struct luajit_place *p, __u64 address, __u64 *word)
{
	__u64 index = (address - p->from) >> 3;

	asm volatile("" : "+r"(index));
	if (address & 7 || index >= LUAJIT_WINDOW_BYTES / 8)
		return 0;
	*word = ((const __u64 *)p)[index];
	return 1;
}

LUAJIT_APART __u64 luajit_mix_text(__u64 hash, const struct luajit_place *p)
{
	if (!p)
		return hash;
	hash = luajit_mix(luajit_mix(hash, p->text[0] >> 32), p->text[1]);
	return lua_mix_text(hash, p->text + 2, LUAJIT_TEXT / 8);
}

/* Reads a string into p->text. False: there is none. */
static __always_inline int luajit_read_text(LUAJIT_FROM *from, struct luajit_place *p, __u64 string)
{
	return string && !luajit_get(from, p->text, sizeof(p->text), string + 8) &&
	       (p->text[0] >> 8 & 0xff) == LUAJIT_STRING;
}

/*
 * What the name of the function's file, or of its text, is; most functions of a stack share one. 0:
 * not readable.
 */
static __always_inline __u64 luajit_sum_chunk(LUAJIT_FROM *from, struct luajit_place *p)
{
	__u64 string = p->proto[LUAJIT_PROTO_CHUNKNAME], sum = luajit_recall(from, string);

	if (sum || !luajit_read_text(from, p, string))
		return sum;
	sum = luajit_mix_text(0, p);
	luajit_remember(from, string, sum);
	return sum;
}

/* Names of variables: of upvalues, then of local ones; up to the prototype's end. */
LUAJIT_APART __u64 luajit_mix_info(LUAJIT_FROM *from, struct luajit_place *p, __u64 hash,
				   __u64 address)
{
	__s32 left, missing;
	__u64 at, end;
	__u32 i;

	if (!from || !p)
		return hash;
	at = p->proto[LUAJIT_PROTO_UVINFO] ? p->proto[LUAJIT_PROTO_UVINFO]
					   : p->proto[LUAJIT_PROTO_VARINFO];
	end = address + (__u32)p->proto[LUAJIT_PROTO_TOTAL];
	left = end - at;
	if (!at || at >= end || end - at > 1u << 30 ||
	    luajit_get(from, p->info, sizeof(p->info), at))
		return luajit_mix(hash, at);
	for (i = 0; i < LUAJIT_INFO / 8; i++) {
		/* bytes of this word that are behind the end */
		missing = 8 - unwind_positive(8 - unwind_positive((__s32)(8 * i + 8) - left));
		hash = luajit_mix(hash, p->info[i] << missing * 4 << missing * 4);
	}
	return hash;
}

/* Which constant an instruction loads the value of, or a field by. */
static __always_inline __u32 luajit_constant(__u32 setter)
{
	return (setter & 0xff) == BC_GGET ? setter >> 16 : setter >> 16 & 0xff;
}

/*
 * What the instruction calls, and what that is called: leaves the name in p->text if it is a
 * constant.
 */
static __always_inline __u64 luajit_mix_call(LUAJIT_FROM *from, struct luajit_place *p, __u64 hash,
					     __u64 address, __u32 place, struct luajit_found *found)
{
	struct luajit_scan scan = {.p = p, .place = place};
	__u64 first = address + LUAJIT_PROTO_SIZE + 4ull * place - 4 * (LUAJIT_NEAR - 1), string;
	__u32 ins, constant;

	scan.last = offsetof(struct luajit_place, code) / 4 + LUAJIT_NEAR - 1;
	if (first - p->from <= LUAJIT_WINDOW_BYTES - 4 * LUAJIT_NEAR)
		scan.last = (__u32)(first - p->from) / 4 + LUAJIT_NEAR - 1;
	else if (luajit_get(from, p->code, sizeof(p->code), first))
		return hash;
	if (scan.last >= LUAJIT_PLACE_CODES)
		return hash;
	ins = ((const __u32 *)p)[scan.last];
	found->op = ins & 0xff;
	found->slot = ins >> 8 & 0xff;
	/* those that LuaJIT changes in their place stand behind BC_CALLT */
	if (found->op > BC_CALLT) {
		found->how = found->op <= BC_ITERN ? LUAJIT_CALLS_VARIABLE : LUAJIT_CALLS_UNKNOWN;
		return luajit_mix_info(from, p, luajit_mix(hash, ins >> 8 & 0xff), address);
	}
	hash = luajit_mix(hash, ins);
	found->how = LUAJIT_CALLS_METAMETHOD;
	if (found->op < BC_CALLM)
		return hash;
	scan.slot = ins >> 8 & 0xff;
	luajit_repeat(LUAJIT_NEAR, luajit_look, &scan);
	found->setter = scan.setter;
	found->ago = scan.ago;
	hash = luajit_mix(hash, (__u64)scan.setter << 32 | scan.ago);
	found->how = LUAJIT_CALLS_UNKNOWN;
	if (!scan.ago)
		return hash;
	ins = scan.setter & 0xff;
	if (ins == BC_MOV || ins == BC_UGET) {
		found->how = LUAJIT_CALLS_VARIABLE;
		return luajit_mix_info(from, p, hash, address);
	}
	if (ins != BC_GGET && ins != BC_TGETS)
		return hash;
	/* collectable constants stand in front of k, in reverse */
	constant = luajit_constant(scan.setter);
	if (constant >= (__u32)p->proto[LUAJIT_PROTO_SIZES])
		return hash;
	first = p->proto[LUAJIT_PROTO_K] - 8 * (constant + 1ull);
	if ((!luajit_near(p, first, &string) && luajit_get(from, &string, sizeof(string), first)) ||
	    !luajit_read_text(from, p, string))
		return hash;
	found->how = LUAJIT_CALLS_CONSTANT;
	return luajit_mix_text(luajit_mix(hash, string), p);
}

static __always_inline __u32 luajit_line(LUAJIT_FROM *from, const struct luajit_place *p,
					 __u32 place)
{
	__u32 lines = p->proto[LUAJIT_PROTO_LINES] >> 32, line = 0;
	__u32 shift = lines < 256 ? 0 : lines < 65536 ? 1 : 2;
	__u64 info = p->proto[LUAJIT_PROTO_LINEINFO], word;

	if (!info || !place || place == LUA_NO_PC)
		return 0;
	info += (place - 1ull) << shift;
	if (luajit_near(p, info & ~7ull, &word))
		line = (__u32)(word >> (info & 7) * 8);
	else if (luajit_get(from, &line, sizeof(line), info))
		return 0;
	return shift == 0 ? line & 0xff : shift == 1 ? line & 0xffff : line;
}

/*
 * Reads what is at the place of a prototype: index of an instruction, or LUA_NO_PC. 0; -1: memory
 * could not be read; -2: not a prototype, or none that has such a place.
 */
static __always_inline int luajit_read_place(LUAJIT_FROM *from, struct luajit_place *p,
					     __u64 address, __u32 place, struct luajit_found *found)
{
	__u64 hash = address;
	__u32 i;

	p->from = address - 8 * LUAJIT_BEFORE_WORDS;
	if (luajit_get(from, p, LUAJIT_WINDOW_BYTES, p->from)) {
		p->from = LUAJIT_NOWHERE;
		if (luajit_get(from, p->proto, sizeof(p->proto), address))
			return -1;
	}
	if ((p->proto[LUAJIT_PROTO_HEAD] >> 8 & 0xff) != LUAJIT_PROTO)
		return -2;
	if (place != LUA_NO_PC && place >= p->proto[LUAJIT_PROTO_HEAD] >> 32)
		return -2;
	hash = luajit_mix(hash, p->proto[LUAJIT_PROTO_HEAD] >> 16);
	hash = luajit_mix(hash, p->proto[LUAJIT_PROTO_TOTAL] << 24);
	for (i = LUAJIT_PROTO_K; i < LUAJIT_PROTO_WORDS; i++)
		if (i != LUAJIT_PROTO_TOTAL)
			hash = luajit_mix(hash, p->proto[i]);
	found->how = LUAJIT_CALLS_NOTHING;
	found->op = found->slot = found->setter = found->ago = 0;
	found->first = (__u32)p->proto[LUAJIT_PROTO_LINES];
	found->line = luajit_line(from, p, place);
	hash = luajit_mix(hash, found->line);
	found->line += found->first;
	hash = luajit_mix(hash, luajit_sum_chunk(from, p));
	if (place != LUA_NO_PC)
		hash = luajit_mix_call(from, p, hash, address, place, found);
	found->check = hash >> LUA_PC_BITS;
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_V8_V8_H
#define BPF_RUNTIME_V8_V8_H

/*
 * Frames of V8 (see runtimes.h). Three kinds of code keep frames that rbp leads through:
 *
 *	- code made at run time, in memory without a file: Sparkplug's, Maglev's, TurboFan's;
 *	- builtins: the interpreter's entry and its bytecode handlers, library functions, stubs.
 *	  They are embedded in the image, between two addresses; V8 may map that part of the file a
 *	  second time, near the code it makes. No table describes them;
 *	- all else of the image is C++ with tables, and none of this step's business.
 *
 * A frame (src/execution/frame-constants.h of V8):
 *
 *	fp + 8	 return address
 *	fp	 the caller's fp
 *	fp - 8	 a context, which is a pointer to an object (lowest bit set): a JavaScript function;
 *		 or twice the type of the frame (lowest bit clear): a stub, or a transition from or
 *		 to C++
 *	fp - 16	 JSFunction; in a frame of WebAssembly, the instance of the module
 *	fp - 24	 count of arguments
 *	fp - 32  BytecodeArray       \ of functions that are interpreted
 *	fp - 40  offset into it      /
 *
 * What is emitted is the function's SharedFunctionInfo, not the JSFunction: there is one for
 * each function of the source, and it lies in the old generation, so that it is still in its place
 * when user space looks.
 *
 * A builtin without a frame of its own needs nothing special: rbp then leads to the frame of the
 * function that it works for, which is pushed and left in its place.
 */

#include "arch/v8.h"
#include "bpf/runtime/v8/abi.h"
#include "bpf/unwind/unwind.h"

/* Words of a frame, from fp - 40 on. */
enum {
	V8_OFFSET,
	V8_BYTECODE,
	V8_ARGUMENTS,
	V8_FUNCTION,
	V8_CONTEXT,
	V8_CALLER_FP,
	V8_RETURN,
	V8_WORDS
};

/* A function, as far as a frame says which one it is. */
struct v8_function {
	__u64 shared; /* address of its SharedFunctionInfo */
	__u64 data;   /* its code: a small integer for a builtin */
	__u32 checksum;
	__u32 guess; /* read when the thread had gone on */
};

/*
 * Objects may have moved when user space finishes a stack. Those that are read here are checked for
 * their types, and what is found that way carries the mark of a guess, unless something that does
 * not move confirms it.
 */
static __always_inline long v8_read(const struct unwind_walk *w, void *to, __u32 size,
				    __u64 address)
{
	return unwind_is_live(w) ? unwind_read_far(w, to, size, address)
				 : unwind_read_code(w, to, size, address);
}

/*
 * Whether the object at pointer `object` is of an instance type. The last map of each kind is
 * remembered.
 */
static __always_inline int v8_is(const struct unwind_walk *w, const struct v8_data *d, __u64 map,
				 __u16 type, __u64 *remembered)
{
	__u16 is = 0;

	if (map == *remembered)
		return 1;
	if (!(map & 1) || v8_read(w, &is, sizeof(is), map - 1 + d->map_type) || is != type)
		return 0;
	*remembered = map;
	return 1;
}

static __always_inline __u64 v8_sum_string(const struct unwind_walk *w, __u64 sum, __u64 string)
{
	__u64 head;

	if (!(string & 1) || v8_read(w, &head, sizeof(head), string - 1 + V8_STRING_HEAD))
		return sum;
	return v8_mix(sum, head);
}

/* Adds what a function's name is read from; words is scratch memory. */
static __always_inline __u64 v8_sum_name(const struct unwind_walk *w, const struct v8_data *d,
					 __u64 sum, __u64 name, __u64 *words)
{
	__u32 at;

	if (v8_read(w, words, V8_SCOPE_WORDS * sizeof(*words), name - 1))
		return sum;
	sum = v8_sum_scope(sum, words);
	at = v8_scope_name(&d->scope, words);
	if (at < V8_SCOPE_WORDS) {
		OPAQUE(at);
		name = v8_scope_named(words, at);
	} else if (v8_read(w, &name, sizeof(name), name - 1 + at * 8ull)) {
		return sum;
	}
	return v8_sum_string(w, sum, name);
}

enum v8_found {
	V8_NO_FUNCTION,
	V8_UNREADABLE, /* it may be one, but memory that says so is not there at this moment */
	V8_FUNCTION_FOUND,
};

/* Words of a function's memo. */
enum {
	V8_MEMO_SHARED,
	V8_MEMO_DATA,
	V8_MEMO_CHECKSUM,
};

/* What the frame's word for a function refers to: looked at once for all its frames. */
static __always_inline enum v8_found v8_function_of(struct unwind_walk *w, const struct v8_data *d,
						    __u64 function, struct v8_function *f)
{
	struct unwind_memo *memo = unwind_memo(w, function);
	__u64 words[V8_SHARED_WORDS], name, sum;

	if (!(function & 1))
		return V8_NO_FUNCTION;
	if (memo->key == function) {
		f->shared = memo->words[V8_MEMO_SHARED];
		f->data = memo->words[V8_MEMO_DATA];
		f->checksum = (__u32)memo->words[V8_MEMO_CHECKSUM];
		return V8_FUNCTION_FOUND;
	}
	if (v8_read(w, &f->shared, sizeof(f->shared), function - 1 + d->function_shared))
		return V8_UNREADABLE;
	if (!(f->shared & 1))
		return V8_NO_FUNCTION;
	f->shared--;
	if (v8_read(w, words, sizeof(words), f->shared))
		return V8_UNREADABLE;
	if (!v8_is(w, d, words[0], d->type_shared, &w->state[UNWIND_RUNTIME_V8][0]))
		return V8_NO_FUNCTION;
	f->data = words[d->shared_data & (V8_SHARED_WORDS - 1)];
	name = words[d->shared_name & (V8_SHARED_WORDS - 1)];
	sum = v8_sum_shared(name, words[d->shared_script & (V8_SHARED_WORDS - 1)],
			    words[d->shared_numbers & (V8_SHARED_WORDS - 1)]);
	sum = v8_has_scope(name, f->data) ? v8_sum_name(w, d, sum, name, words)
					  : v8_sum_string(w, sum, name);
	f->checksum = v8_checksum(sum);
	memo->key = function;
	memo->words[V8_MEMO_SHARED] = f->shared;
	memo->words[V8_MEMO_DATA] = f->data;
	memo->words[V8_MEMO_CHECKSUM] = f->checksum;
	return V8_FUNCTION_FOUND;
}

static __always_inline int v8_push(struct unwind_walk *w, __u32 variant, __u64 value, __u64 detail,
				   __u32 guess)
{
	__u64 word = UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_V8, variant, value);

	return unwind_push_runtime(w, w->guess | guess ? word | UNWIND_GUESS : word, detail);
}

/*
 * Pushes a function of which the place is known as an offset into its bytecode, or (0) not at all.
 */
static __always_inline int v8_push_function(struct unwind_walk *w, const struct v8_function *f,
					    __u32 offset)
{
	return v8_push(w, V8_FRAME_FUNCTION, f->shared, (__u64)f->checksum << 32 | offset,
		       f->guess);
}

static __always_inline int v8_push_code(struct unwind_walk *w, const struct v8_function *f)
{
	return v8_push(w, w->pc_exact ? V8_FRAME_LEAF : V8_FRAME_CODE, unwind_at(w),
		       V8_CODE_DETAIL(f->shared, f->checksum), f->guess);
}

/* All frames that this step leaves behind have been checked: the next one is not a guess. */
static __always_inline int v8_return_to(struct unwind_walk *w, __u64 pc, __u64 sp, __u64 fp)
{
	w->fp_known = 1;
	w->guess = 0;
	return unwind_return_to(w, pc, sp, fp) ? UNWIND_ENDED : UNWIND_MOVED;
}

/* Where the thread is in a function, as far as its frame goes. */
enum v8_stage {
	V8_IN_FRAME,
	V8_ENTERING, /* before "push rbp": the return address is at rsp */
	V8_PUSHED,   /* before "mov rbp, rsp" */
	/* behind it, before "push rdi": where the function will be is what an earlier call left */
	V8_EMPTY,
	/* behind "pop rbp": the return address is at rsp, the frame still right below */
	V8_LEAVING,
};

/*
 * How far ahead "push rbp" is looked for: what V8's compilers put before it checks whether the code
 * is still valid.
 */
#define V8_PROLOGUE 20

static __always_inline enum v8_stage v8_stage(const struct unwind_walk *w)
{
	__u64 code[4];
	__u32 i;

	if (!w->pc_exact || unwind_read_code(w, code, sizeof(code), w->pc - 8))
		return V8_IN_FRAME;
	if (code[0] >> 56 == 0x55 && (code[1] & 0xffffff) == V8_PUSH_MOV >> 8)
		return V8_PUSHED;
	if ((code[0] >> 40 == (V8_MOV_PUSH & 0xffffff) && w->sp == w->fp) ||
	    (code[0] >> 32 == V8_MOV_PUSH && w->sp == w->fp - 8))
		return V8_EMPTY;
	if (v8_is_leaving(code))
		return V8_LEAVING;
	for (i = 0; i < V8_PROLOGUE; i++) {
		__u64 at = code[1 + i / 8] >> (i % 8 * 8);

		if (i % 8 > 4)
			at |= code[2 + i / 8] << (64 - i % 8 * 8);
		if ((__u32)at == V8_PUSH_MOV)
			return V8_ENTERING;
	}
	return V8_IN_FRAME;
}

/*
 * The leaf has no frame yet, one with nothing in it, or none any more: its return address is at rsp
 * or right above. UNWIND_NATIVE: what is there is none.
 */
static __always_inline int v8_step_bare(struct unwind_walk *w, const struct v8_data *d,
					enum v8_stage stage, int builtin)
{
	__u64 at = stage == V8_EMPTY ? w->fp + 8 : w->sp + (stage == V8_PUSHED ? 8 : 0), pc;
	__u64 function = w->registers[5], fp = w->fp;
	struct v8_function f;

	if (stage == V8_EMPTY && unwind_read(w, &fp, sizeof(fp), w->fp))
		return UNWIND_NATIVE;
	if (unwind_read(w, &pc, sizeof(pc), at) || !unwind_enter_mapping(w, pc - 1))
		return UNWIND_NATIVE;
	/* a function is called with its JSFunction in rdi */
	if (stage == V8_LEAVING && unwind_read(w, &function, sizeof(function), w->sp - 24))
		function = 0;
	if (!builtin && v8_function_of(w, d, function, &f) == V8_FUNCTION_FOUND) {
		f.guess = !unwind_is_live(w);
		if (v8_push_code(w, &f))
			return UNWIND_ENDED;
	} else if (builtin ? unwind_push(w, unwind_at(w))
			   : v8_push(w, V8_FRAME_STUB, unwind_at(w), 0, 0)) {
		return UNWIND_ENDED;
	}
	w->saved_at = UNWIND_SAVED_UNKNOWN;
	return v8_return_to(w, pc, at + 8, fp);
}

/* A stub, or a transition from or to C++. */
static __always_inline int v8_step_typed(struct unwind_walk *w, const struct v8_data *d,
					 const __u64 *frame, int builtin)
{
	__u64 type = frame[V8_CONTEXT] >> 1, instance;

	if (type >= d->frame_types)
		return UNWIND_NATIVE;
	/* a frame of WebAssembly has its instance where those of JavaScript have the function */
	instance = type == d->frame_wasm ? frame[V8_FUNCTION] : 0;
	if (builtin ? unwind_push(w, unwind_at(w))
		    : v8_push(w, V8_FRAME_STUB, unwind_at(w), V8_STUB_DETAIL(type, instance), 0))
		return UNWIND_ENDED;
	/*
	 * the entry from C++ saves what C++ expects to find again: r12 to r15 and rbx, below two
	 * other words
	 */
	w->saved_at = type == d->frame_entry || type == d->frame_construct_entry
			      ? w->fp - 56
			      : UNWIND_SAVED_UNKNOWN;
	return v8_return_to(w, frame[V8_RETURN], w->fp + 16, frame[V8_CALLER_FP]);
}

/* Whether a builtin's frame is the interpreter's. */
static __always_inline int v8_is_interpreted(struct unwind_walk *w, const struct v8_data *d,
					     const __u64 *frame, const struct v8_function *f)
{
	__u64 array = frame[V8_BYTECODE], map;

	if (!(array & 1) || (__u32)frame[V8_OFFSET] || !frame[V8_OFFSET])
		return 0;
	return array == f->data ||
	       (!v8_read(w, &map, sizeof(map), array - 1) &&
		v8_is(w, d, map, d->type_bytecode, &w->state[UNWIND_RUNTIME_V8][1]));
}

static __always_inline int v8_push_frame(struct unwind_walk *w, const struct v8_data *d,
					 const __u64 *frame, const struct v8_function *f,
					 int builtin)
{
	int interpreted;

	/*
	 * code that takes over in the middle of a loop keeps the interpreter's frame, and what was
	 * in it
	 */
	if (!builtin)
		return v8_push_code(w, f);
	interpreted = v8_is_interpreted(w, d, frame, f);
	/*
	 * the interpreter's entry stands behind each function that it runs: that is not worth a
	 * frame
	 */
	if ((!interpreted || w->pc_exact) && unwind_push(w, unwind_at(w)))
		return 1;
	return v8_push_function(w, f, interpreted ? (__u32)(frame[V8_OFFSET] >> 32) : 0);
}

static __always_inline int v8_step(struct unwind_walk *w)
{
	const struct v8_data *d = unwind_data(w);
	struct v8_function f;
	__u64 frame[V8_WORDS];
	enum v8_stage stage;
	enum v8_found found;
	int builtin, moved;

	if (!d)
		return UNWIND_NATIVE;
	/* what has a table is the image */
	builtin = w->mapping.kind == UNWIND_MAPPING_TABLE;
	if (builtin && unwind_at(w) - w->mapping.bias - d->builtins_start >= d->builtins_size)
		return UNWIND_NATIVE;
	if (!w->fp_known)
		return UNWIND_NATIVE;
	stage = v8_stage(w);
	if (stage != V8_IN_FRAME) {
		moved = v8_step_bare(w, d, stage, builtin);
		if (moved != UNWIND_NATIVE)
			return moved;
	}
	if (w->fp < w->sp || w->fp & 7 || unwind_read(w, frame, sizeof(frame), w->fp - 40))
		return UNWIND_NATIVE;
	if (!(frame[V8_CONTEXT] & 1))
		return v8_step_typed(w, d, frame, builtin);
	found = v8_function_of(w, d, frame[V8_FUNCTION], &f);
	if (found == V8_UNREADABLE && unwind_is_live(w)) {
		if (v8_push(w, V8_FRAME_FUNCTION, 0, 0, 0))
			return UNWIND_ENDED;
		w->saved_at = UNWIND_SAVED_UNKNOWN;
		return v8_return_to(w, frame[V8_RETURN], w->fp + 16, frame[V8_CALLER_FP]);
	}
	if (found != V8_FUNCTION_FOUND)
		return unwind_is_live(w) ? UNWIND_NATIVE : unwind_miss(w, UNWIND_RUNTIME_V8);
	f.guess = !unwind_is_live(w) && frame[V8_BYTECODE] != f.data;
	if (v8_push_frame(w, d, frame, &f, builtin))
		return UNWIND_ENDED;
	w->saved_at = UNWIND_SAVED_UNKNOWN;
	return v8_return_to(w, frame[V8_RETURN], w->fp + 16, frame[V8_CALLER_FP]);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_PYTHON_CODE_H
#define BPF_RUNTIME_PYTHON_CODE_H

/*
 * Which code object a frame of CPython has: its address, and a sum of what tells it from another
 * one that lies at the same place later (python_sum()). That takes two reads, of the code object
 * and of the hash of its name.
 *
 * Since 3.12 code objects have numbers: where one has been seen with its number, that is read, and
 * its sum is remembered.
 *
 * In 3.11 functions have numbers: func_version, given to no other one, by a counter of the whole
 * process, when a call of the function is specialized; zero for a new function, and again when it
 * gets another code object (_PyFunction_GetVersionForCurrentState(), func_set_code() in
 * Objects/funcobject.c). A frame holds a reference to its function, and the function one to its
 * code object. So where a function with a number has been seen with a code object, a frame with the
 * same two and that number means the same code object, and its sum is remembered: one read. A
 * function without a number is looked at now and then, as it may get one.
 */

#include "bpf/runtime/kept.h"
#include "bpf/runtime/python/abi.h"
#include "bpf/unwind/unwind.h"

struct python_frame {
	__u64 code, previous, instruction;
	__u64 function; /* where functions have numbers */
	__u8 owner;
};

/* Word of what was read, at a byte offset that user space has chosen. */
static __always_inline __u64 python_word(const struct unwind_walk *w, __u32 offset)
{
	return w->piece[offset >> 3 & (UNWIND_PIECE_BYTES / 8 - 1)];
}

/*
 * to: size bytes. The piece is overwritten, as the stack has no room: Linux 6.1 rounds that of each
 * function up to 32 bytes.
 */
static __always_inline void python_keep_text(struct unwind_walk *w, const struct python_data *data,
					     __u64 text, struct python_kept_text *is, char *to,
					     __u32 size)
{
	const __u64 *head = w->piece; /* PyASCIIObject: its length, hash and state */

	if (unwind_read_far(w, w->piece, 3 * sizeof(*head), text + data->name_hash - 8) ||
	    (head[2] & (PYTHON_COMPACT | PYTHON_ASCII)) != (PYTHON_COMPACT | PYTHON_ASCII))
		return;
	is->length = head[0] < ~0u ? head[0] : ~0u;
	/* without its end: it is not known how far the string goes */
	if (!unwind_read_far(w, to, size, text + data->name_text))
		is->has = size;
	else if (!unwind_read_far(w, to, PYTHON_KEPT_FEW, text + data->name_text))
		is->has = PYTHON_KEPT_FEW;
}

UNWIND_APART int python_keep(struct unwind_walk *w, const struct python_data *data, __u64 code,
			     __u32 sum)
{
	struct python_kept *kept;
	__u64 name, file;

	_Static_assert(sizeof(*kept) <= UNWIND_KEPT_BYTES, "room for what is kept");
	if (!w || !data)
		return 0;
	kept = unwind_keep(python_kept_key(code, sum));
	if (!kept ||
	    unwind_read_far(w, w->piece, PYTHON_WORDS * sizeof(__u64), code + data->code_from))
		return 0;
	name = python_word(w, data->code_name * 8u);
	file = python_word(w, data->code_file * 8u);
	python_keep_text(w, data, name, &kept->name_is, kept->name, sizeof(kept->name));
	python_keep_text(w, data, file, &kept->file_is, kept->file, sizeof(kept->file));
	return 0;
}

/*
 * As PYTHON_CHECKED, of a sum that was not remembered: the code object may be new, and is to be
 * kept. Not here: the chain of calls down to this has no room left on Linux 6.1.
 */
#define PYTHON_CHECKED_NOW 2

/* The sum of the code object at `code`. PYTHON_CHECKED_NOW, or PYTHON_UNCHECKED. */
UNWIND_APART int python_check(struct unwind_walk *w, const struct python_data *data, __u64 code,
			      __u32 *sum)
{
	const __u32 bytes = PYTHON_WORDS * sizeof(__u64);
	const __u32 name_bytes = PYTHON_NAME_WORDS * sizeof(__u64);
	__u64 number, name;

	if (!w || !data || !sum || unwind_read_far(w, w->piece, bytes, code + data->code_from))
		return PYTHON_UNCHECKED;
	number = python_number(w->piece, data->code_number);
	name = python_word(w, data->code_name * 8u);
	if (!number && unwind_read_far(w, &number, sizeof(number), name + data->name_hash))
		return PYTHON_UNCHECKED;
	*sum = python_sum(w->piece, data->code_words, number);
	if (number == PYTHON_NO_HASH) {
		if (unwind_read_far(w, w->piece, name_bytes,
				    name + data->name_hash - sizeof(__u64)))
			return PYTHON_UNCHECKED;
		*sum = python_sum_name(*sum, w->piece, python_text_from(data));
	}
	return PYTHON_CHECKED_NOW;
}

/* A function's fields from its code object on, up to the word with its number. */
#define PYTHON_FUNCTION_WORDS 11

/*
 * What is remembered of a function and its code: the number and the sum; or no number, and how
 * often not to look.
 */
#define PYTHON_NUMBER_SHIFT 32
#define PYTHON_LOOKS_APART  16

/* Under which word that is: no address of code has bit 62. */
static __always_inline __u64 python_function_key(const struct python_frame *frame)
{
	__u64 key = (frame->function ^ frame->code * 0x9e3779b97f4a7c15ull) * 0xe220a8397b1dcdafull;

	return key >> 2 | 1ull << 62;
}

/* Whether the number at `from` is the one that was remembered. */
static __always_inline int python_has_number(const struct unwind_walk *w, __u64 from,
					     __u64 remembered)
{
	__u32 number = 0;

	return remembered >> PYTHON_NUMBER_SHIFT &&
	       !unwind_read_far(w, &number, sizeof(number), from) &&
	       number == remembered >> PYTHON_NUMBER_SHIFT;
}

/* The function's number above the sum, if it has one and this code object. */
UNWIND_APART __u64 python_numbered(struct unwind_walk *w, const struct python_data *data,
				   const struct python_frame *frame, __u32 sum)
{
	const __u32 bytes = PYTHON_FUNCTION_WORDS * sizeof(__u64);
	__u64 number;

	if (!w || !data || !frame ||
	    unwind_read_far(w, w->piece, bytes,
			    frame->function + data->function_number + sizeof(__u64) - bytes) ||
	    w->piece[0] != frame->code)
		return PYTHON_LOOKS_APART;
	number = (__u32)w->piece[PYTHON_FUNCTION_WORDS - 1];
	return number ? number << PYTHON_NUMBER_SHIFT | sum : PYTHON_LOOKS_APART;
}

/* Since 3.12: the sum of a code object, by its number. As python_check(), or PYTHON_CHECKED. */
static __always_inline int python_by_number(struct unwind_walk *w, const struct python_data *data,
					    __u64 code, __u32 *sum)
{
	__u64 key = code | 1ull << 62, words[2],
	      from = code + data->code_from + data->code_number * 8ull - sizeof(__u32);
	__u32 number;
	int variant;

	unwind_recall_words(w, key, words);
	if (python_has_number(w, from, words[0])) {
		*sum = words[0];
		return PYTHON_CHECKED;
	}
	variant = python_check(w, data, code, sum);
	if (variant != PYTHON_UNCHECKED && !unwind_read_far(w, &number, sizeof(number), from) &&
	    number)
		unwind_remember_words(w, key, (__u64)number << PYTHON_NUMBER_SHIFT | *sum, 0);
	return variant;
}

/* The sum of a frame's code object. As python_by_number(). */
static __always_inline int python_identify(struct unwind_walk *w, const struct python_data *data,
					   const struct python_frame *frame, __u32 *sum)
{
	__u64 key, words[2], remembered;
	int variant;

	if (data->code_number)
		return python_by_number(w, data, frame->code, sum);
	if (!data->function_number)
		return python_check(w, data, frame->code, sum);
	key = python_function_key(frame);
	unwind_recall_words(w, key, words);
	remembered = words[0];
	if (python_has_number(w, frame->function + data->function_number, remembered)) {
		*sum = remembered;
		return PYTHON_CHECKED;
	}
	variant = python_check(w, data, frame->code, sum);
	if (remembered >> PYTHON_NUMBER_SHIFT)
		remembered = PYTHON_LOOKS_APART;
	else if (remembered > 1)
		remembered--;
	else if (remembered && variant != PYTHON_UNCHECKED)
		remembered = python_numbered(w, data, frame, *sum);
	else
		remembered = 1;
	unwind_remember_words(w, key, remembered, 0);
	return variant;
}

#endif

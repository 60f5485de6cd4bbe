/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_RUN_H
#define BPF_INSPECT_RUN_H

/*
 * The steps of a plan (inspect/abi.h): each reads what an earlier one leads to, or compares it.
 */
#include "bpf/capture/capture.h"
#include "bpf/inspect/abi.h"
#include "bpf/inspect/items.h"
#include "bpf/inspect/nodes.h"

static __always_inline bool holds(__u8 compare, __u64 a, __u64 b, bool is_signed)
{
	bool less = is_signed ? (__s64)a < (__s64)b : a < b;

	switch (compare) {
	case INSPECT_EQUAL:
		return a == b;
	case INSPECT_NOT_EQUAL:
		return a != b;
	case INSPECT_LESS:
		return less;
	case INSPECT_AT_MOST:
		return less || a == b;
	case INSPECT_MORE:
		return !less && a != b;
	default:
		return !less;
	}
}

/* Returns 1 or 0; -1: what is compared could not be read. */
static __noinline int test_number(struct inspect_scratch *s, const struct inspect_plan *p,
				  const struct inspect_step *step)
{
	__u64 value;
	__u32 shift = 64 - 8 * (step->width & 15);

	if (!word_of(s, step, step->offset, step->width, &value))
		return -1;
	value <<= shift & 63;
	if (step->flags & INSPECT_SIGNED)
		value = (__s64)value >> (shift & 63);
	else
		value >>= shift & 63;
	return holds(step->length_at, value, p->constants[step->size & (INSPECT_CONSTANTS - 1)],
		     step->flags & INSPECT_SIGNED);
}

struct texts {
	const __u8 *a, *b;
	__u32 at_a, at_b, size, differs;
};

static long compare_byte(__u32 i, void *context)
{
	struct texts *t = context;

	if (i >= t->size)
		return 1;
	if (t->a[(t->at_a + i) & BYTES_MASK] != t->b[(t->at_b + i) & (INSPECT_TEXT_MAX - 1)]) {
		t->differs = 1;
		return 1;
	}
	return 0;
}

static __noinline int test_text(struct inspect_scratch *s, const struct inspect_plan *p,
				const struct inspect_step *step)
{
	__u32 from = step->from & STEP_MASK, got = got_of(s, from);
	struct texts texts = {s->bytes, p->text, s->at[from], step->displacement, step->size, 0};

	if (got == NOTHING)
		return -1;
	if (got != step->size)
		texts.differs = 1;
	else
		bpf_loop(INSPECT_TEXT_MAX, compare_byte, &texts, 0);
	return texts.differs == (step->width == INSPECT_NOT_EQUAL);
}

struct run {
	struct inspect_scratch *s;
	const struct inspect_plan *p;
};

static long run_step(__u32 i, void *context)
{
	struct run *run = context;
	struct inspect_scratch *s = run->s;
	const struct inspect_step *step;
	__u32 next = s->next;
	int is_true;

	if (next >= run->p->steps || next >= INSPECT_STEPS_MAX)
		return 1;
	step = &run->p->step[next];
	if (step->kind != INSPECT_TEST && step->kind != INSPECT_TEST_TEXT) {
		if (step->kind == INSPECT_CHAIN || step->kind == INSPECT_ORDER)
			read_nodes(s, step);
		else if (step->kind == INSPECT_SUM || step->kind == INSPECT_DESCEND)
			read_word(s, step);
		else if (step->flags & INSPECT_EACH)
			read_elements(s, step);
		else if (read_item(s, step, 0, 0))
			return 1;
		s->next = next + 1;
		return 0;
	}
	is_true = step->kind == INSPECT_TEST ? test_number(s, run->p, step)
					     : test_text(s, run->p, step);
	if (is_true < 0)
		s->is_unknown = 1;
	s->next = is_true > 0 ? step->max & 255 : step->max >> 8;
	/* onwards only: it ends */
	if (s->next <= next || s->next == INSPECT_REJECT) {
		s->is_rejected = 1;
		return 1;
	}
	return 0;
}

/* The conditions first, then the values. False: the call is not meant. */
static __always_inline bool run_plan(struct inspect_scratch *s, const struct inspect_plan *plan)
{
	struct run run = {s, plan};

	s->next = 0;
	s->is_rejected = s->is_unknown = 0;
	s->taken = 0;
	bpf_loop(INSPECT_STEPS_MAX, run_step, &run, 0);
	if (s->is_rejected && s->is_unknown)
		capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_INSPECT_CONDITION);
	return !s->is_rejected;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_RUN_H
#define BPF_INSPECT_RUN_H

/*
 * The steps of a plan (inspect_abi.h): each reads what an earlier one leads to, or compares it. All
 * that they read comes one behind the other into the scratch, the registers first.
 */
#include "capture.h"
#include "inspect_abi.h"

#define BYTES_MASK (INSPECT_BYTES_MAX - 1)
#define STEP_MASK  (INSPECT_STEPS_MAX - 1)
#define NOTHING	   0xffffu

struct inspect_scratch {
	__u64 busy, woken_at; /* when user space was last woken by a record from here */
	__u64 taken;	      /* bit n: step n has bytes */
	__u32 used, next, begins, is_rejected, is_unknown;
	__u32 number;		      /* in inspect_scratch_map */
	__u16 at[INSPECT_STEPS_MAX];  /* where a step's bytes begin */
	__u16 got[INSPECT_STEPS_MAX]; /* how many, of those that have some */
	struct inspect_record record;
	__u8 bytes[INSPECT_BYTES_MAX + sizeof(struct inspect_item) + INSPECT_READ_MAX];
};

/* As capture_scratch_map: a probe can be interrupted by another one of its CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_SCRATCHES);
	__type(key, __u32);
	__type(value, struct inspect_scratch);
} inspect_scratch_map SEC(".maps") __weak;

static __always_inline struct inspect_scratch *claim(void)
{
	__u32 cpu = bpf_get_smp_processor_id(), i, slot;
	struct inspect_scratch *s;

	/* to divide takes longer than the rest */
	if (cpu >= capture_cpus)
		cpu %= capture_cpus;

	for (i = 0; i < CAPTURE_SCRATCHES; i++) {
		slot = cpu * CAPTURE_SCRATCHES + i;
		s = bpf_map_lookup_elem(&inspect_scratch_map, &slot);
		if (s && !__sync_val_compare_and_swap(&s->busy, 0, 1)) {
			s->number = slot;
			return s;
		}
	}
	capture_count_loss(CAPTURE_SOURCE_INSPECT, CAPTURE_LOSS_SCRATCH_BUSY);
	return NULL;
}

/* All that claim it run on this CPU: there is nothing to lock out. */
static __always_inline void release(struct inspect_scratch *s)
{
	*(volatile __u64 *)&s->busy = 0;
}

/* How many bytes a step has taken; NOTHING. */
static __always_inline __u32 got_of(const struct inspect_scratch *s, __u32 step)
{
	step &= STEP_MASK;
	return s->taken >> step & 1 ? s->got[step] : NOTHING;
}

/* Eight bytes of a step's source. False: it has none there. */
static __always_inline bool word_of(struct inspect_scratch *s, const struct inspect_step *step,
				    __u32 offset, __u32 size, __u64 *word)
{
	__u32 at = 0, got = INSPECT_REGISTER_BYTES;

	if (step->from != INSPECT_FROM_REGISTERS) {
		at = s->at[step->from & STEP_MASK];
		got = got_of(s, step->from);
	}
	if (got == NOTHING || offset + size > got)
		return false;
	*word = *(__u64 *)&s->bytes[(at + offset) & BYTES_MASK];
	return true;
}

/* How many bytes an array has, with the number of its elements in *length. */
static __always_inline __u64 bytes_of_array(struct inspect_scratch *s,
					    const struct inspect_step *step, __u32 base,
					    __u64 pointer, __u64 *length)
{
	__u64 word = 0, size = step->size ?: 1;

	*length = 0;
	if (step->flags & INSPECT_LENGTH_IS_POWER) {
		if (!word_of(s, step, base + step->length_at, 1, &word))
			return 0;
		*length = 1ull << (word & 31);
		return *length * size;
	}
	if (!word_of(s, step, base + step->length_at, step->flags & INSPECT_LENGTH_IS_U32 ? 4 : 8,
		     &word))
		return 0;
	if (step->flags & INSPECT_LENGTH_IS_U32)
		word = (__u32)word;
	if (step->flags & INSPECT_LENGTH_IS_MASK)
		word++;
	if (step->flags & INSPECT_LENGTH_IS_END) {
		word = word > pointer ? word - pointer : 0;
		*length = word / size;
		return word;
	}
	*length = word;
	return word > 1u << 30 ? 1ull << 40 : word * size;
}

/* Takes what one pointer leads to. */
static __noinline int take_item(struct inspect_scratch *s, const struct inspect_step *step,
				__u32 base, __u32 index)
{
	__u32 used = s->used & BYTES_MASK, room, size, most = step->size;
	struct inspect_item *item = (struct inspect_item *)&s->bytes[used];
	__u64 pointer = 0, wanted = step->size, length = 0;
	__u8 number = s->next & STEP_MASK;
	long got;

	if (s->used > INSPECT_BYTES_MAX - sizeof(*item) - 8)
		return 1;
	if (!word_of(s, step, base + step->offset, 8, &pointer))
		return 0;
	room = INSPECT_BYTES_MAX - 8 - sizeof(*item) - used;
	item->step = number;
	item->index = index;
	item->status = INSPECT_OK;
	item->unused = 0;
	item->address = pointer;
	item->size = 0;
	if (step->kind == INSPECT_ARRAY) {
		wanted = bytes_of_array(s, step, base, pointer, &length);
		most = step->max;
	} else if (step->kind == INSPECT_TEXT) {
		wanted = most = step->max;
	}
	item->length = length;
	if (!(step->flags & INSPECT_EACH))
		pointer += (__s64)step->displacement;
	size = wanted < most ? wanted : most;
	if (wanted > most)
		item->status = INSPECT_TRUNCATED;
	if (size > room) {
		size = room;
		item->status = INSPECT_FULL;
	}
	if (size > INSPECT_READ_MAX)
		size = INSPECT_READ_MAX;
	if (!item->address) {
		item->status = INSPECT_NIL;
		size = 0;
	}
	if (size && step->kind == INSPECT_TEXT) {
		got = bpf_probe_read_user_str(&s->bytes[used + sizeof(*item)], size,
					      (const void *)pointer);
		if (got <= 0) {
			item->status = INSPECT_NOT_RESIDENT;
			got = 1;
		} else if (got == size) {
			item->status = INSPECT_TRUNCATED;
		}
		size = got > 0 && got <= INSPECT_READ_MAX ? got - 1 : 0;
	} else if (size && bpf_probe_read_user(&s->bytes[used + sizeof(*item)], size,
					       (const void *)pointer)) {
		item->status = INSPECT_NOT_RESIDENT;
		size = 0;
	}
	item->size = size;
	if (!index) {
		s->at[number] = used + sizeof(*item);
		s->got[number] = size;
		if (item->status != INSPECT_NIL && item->status != INSPECT_NOT_RESIDENT)
			s->taken |= 1ull << number;
	}
	s->used = used + sizeof(*item) + ((size + 7) & ~7u);
	return 0;
}

struct each {
	struct inspect_scratch *s;
	const struct inspect_step *step;
	__u32 stride, got;
};

static long take_each(__u32 i, void *context)
{
	struct each *each = context;
	__u32 base = i * each->stride;

	if (base + each->stride > each->got)
		return 1;
	return take_item(each->s, each->step, base, i) != 0;
}

static __always_inline void take_elements(struct inspect_scratch *s,
					  const struct inspect_step *step)
{
	struct each each = {s, step, step->displacement, got_of(s, step->from)};

	if (each.got == NOTHING || !each.stride)
		return;
	bpf_loop(INSPECT_EACH_MAX, take_each, &each, 0);
}

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
		if (step->flags & INSPECT_EACH)
			take_elements(s, step);
		else if (take_item(s, step, 0, 0))
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

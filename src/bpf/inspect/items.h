/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_INSPECT_ITEMS_H
#define BPF_INSPECT_ITEMS_H

/*
 * What steps of a plan take (inspect/abi.h): items, one behind the other in the scratch, the
 * registers first.
 */
#include "bpf/capture/capture.h"
#include "bpf/inspect/abi.h"

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

/* An item of the step that runs, at the end of what is taken; null: there is no room. */
static __always_inline struct inspect_item *begin_item(struct inspect_scratch *s, __u32 index,
						       __u64 address)
{
	struct inspect_item *item = (struct inspect_item *)&s->bytes[s->used & BYTES_MASK];

	if (s->used > INSPECT_BYTES_MAX - sizeof(*item) - 8)
		return NULL;
	item->step = s->next & STEP_MASK;
	item->index = index;
	item->status = INSPECT_OK;
	item->unused = 0;
	item->address = address;
	item->length = 0;
	item->size = 0;
	return item;
}

/* It has that many bytes, and later steps can begin there. */
static __always_inline void end_item(struct inspect_scratch *s, struct inspect_item *item,
				     __u32 size)
{
	__u32 used = s->used & BYTES_MASK, number = s->next & STEP_MASK;

	item->size = size;
	if (!item->index) {
		s->at[number] = used + sizeof(*item);
		s->got[number] = size;
		if (size || (item->status != INSPECT_NIL && item->status != INSPECT_NOT_RESIDENT))
			s->taken |= 1ull << number;
	}
	s->used = used + sizeof(*item) + ((size + 7) & ~7u);
}

/*
 * Reads what is wanted; if that is not all in memory, what comes before the next page. Returns how
 * much; nothing, if only all is good.
 */
static __always_inline __u32 read_most(void *to, __u32 size, __u64 pointer, bool is_all)
{
	__u32 part = 4096 - (pointer & 4095);

	if (!bpf_probe_read_user(to, size, (const void *)pointer))
		return size;
	return !is_all && part < size && !bpf_probe_read_user(to, part, (const void *)pointer)
		       ? part
		       : 0;
}

/* Reads what one pointer leads to. */
static __noinline int read_item(struct inspect_scratch *s, const struct inspect_step *step,
				__u32 base, __u32 index)
{
	__u32 used = s->used & BYTES_MASK, room, size, most = step->size;
	struct inspect_item *item;
	__u64 pointer = 0, wanted = step->size, length = 0;
	long got;

	if (!word_of(s, step, base + step->offset, 8, &pointer))
		return 0;
	item = begin_item(s, index, pointer);
	if (!item)
		return 1;
	room = INSPECT_BYTES_MAX - 8 - sizeof(*item) - used;
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
		size = step->kind == INSPECT_ARRAY && step->size ? room - room % step->size : room;
		item->status = INSPECT_FULL;
	}
	if (size > INSPECT_READ_MAX)
		size = INSPECT_READ_MAX;
	if (step->flags & INSPECT_BACKWARD)
		pointer -= size;
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
	} else if (size) {
		got = read_most(&s->bytes[used + sizeof(*item)], size, pointer,
				step->flags & INSPECT_BACKWARD);
		if (got != size)
			item->status = INSPECT_NOT_RESIDENT;
		size = got;
	}
	end_item(s, item, size);
	return 0;
}

struct each {
	struct inspect_scratch *s;
	const struct inspect_step *step;
	__u32 stride, got;
};

static long read_each(__u32 i, void *context)
{
	struct each *each = context;
	__u32 base = i * each->stride;

	if (base + each->stride > each->got || (each->step->width && i >= each->step->width))
		return 1;
	return read_item(each->s, each->step, base, i) != 0;
}

static __always_inline void read_elements(struct inspect_scratch *s,
					  const struct inspect_step *step)
{
	struct each each = {s, step, step->displacement, got_of(s, step->from)};

	if (each.got == NOTHING || !each.stride)
		return;
	bpf_loop(INSPECT_EACH_MAX, read_each, &each, 0);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_CAPTURE_UNWIND_H
#define BPF_CAPTURE_UNWIND_H

/* What the unwinder asks of the side that it runs on (unwind/walk.h), answered in the kernel. */

#include "bpf/capture/maps.h"
#include "bpf/capture/uprobes.h"
#include "bpf/unwind/unwind.h"

static __always_inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n)
{
	void *inner = bpf_map_lookup_elem(&unwind_chunks, &n);
	__u32 zero = 0;

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

static __always_inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w)
{
	struct unwind_rule_table *table;
	__u32 zero = 0;

	table = bpf_map_lookup_elem(&unwind_rule_map, &zero);
	return table ? table->rules : NULL;
}

/* Unrolled: size is known when this is compiled. */
static __always_inline void capture_copy_words(__u64 *to, const __u64 *from, __u32 size)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < CAPTURE_READ_WORDS; i++)
		if (i < size / 8)
			to[i] = from[i];
}

static __always_inline void capture_spoil_notes(struct capture_scratch *s)
{
	s->notes.count = CAPTURE_NOTES_SPOILT;
}

/* Notes what was read, or that it could not be. size is known when this is compiled. */
static __always_inline void capture_note(struct capture_scratch *s, const void *words, __u32 size,
					 __u64 address, bool failed)
{
	struct capture_notes *notes = &s->notes;
	__u32 count = notes->count, last = count + size / 8 - 1;

	if (!notes->wanted)
		return;
	if (failed || (size != 8 && size != 16) || address & 7 || last >= CAPTURE_NOTES_MAX) {
		notes->count = CAPTURE_NOTES_SPOILT;
		return;
	}
	OPAQUE(count);
	OPAQUE(last);
	notes->at[last & (CAPTURE_NOTES_MAX - 1)] = address + size - 8;
	notes->value[last & (CAPTURE_NOTES_MAX - 1)] = *(const __u64 *)(words + size - 8);
	if (size == 16) {
		notes->at[count & (CAPTURE_NOTES_MAX - 1)] = address;
		notes->value[count & (CAPTURE_NOTES_MAX - 1)] = *(const __u64 *)words;
	}
	notes->count = last + 1;
}

/*
 * Up to CAPTURE_READ_WORDS are read through the window: calling the kernel for each frame would
 * take a third of the time of a walk. To read 8 bytes takes as long as to read 512.
 */
static __always_inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size,
					__u64 address)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);
	__u64 offset = address - s->window_start;
	long failed;
	__u32 word;

	if (size > CAPTURE_READ_WORDS * 8 || size & 7 || address & 7)
		goto directly;
	if (offset > CAPTURE_WINDOW_BYTES - size) {
		/* a read that fails leaves zeros */
		s->window_start = ~0ull;
		if (bpf_probe_read_user(s->window, CAPTURE_WINDOW_BYTES, (const void *)address))
			goto directly;
		s->window_start = address;
		offset = 0;
	}
	word = (offset >> 3) & (CAPTURE_WINDOW_WORDS - 1);
	capture_copy_words(to, s->window + word, size);
	capture_note(s, to, size, address, false);
	return 0;
directly:
	failed = bpf_probe_read_user(to, size, (const void *)address);
	capture_note(s, to, size, address, failed);
	return failed;
}

/* The same where the walk goes down: the window ends with what is read, or begins with its page. */
static __always_inline long unwind_read_down(const struct unwind_walk *w, void *to, __u32 size,
					     __u64 address)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);
	__u64 offset = address - s->window_start, start, page = address & ~4095ull;
	__u32 word;

	if (size > CAPTURE_READ_WORDS * 8 || size & 7 || address & 7)
		goto directly;
	if (offset > CAPTURE_WINDOW_BYTES - size) {
		start = address + size - CAPTURE_WINDOW_BYTES;
		if (start < page && address + size <= page + CAPTURE_WINDOW_BYTES)
			start = page;
		s->window_start = ~0ull;
		if (bpf_probe_read_user(s->window, CAPTURE_WINDOW_BYTES, (const void *)start))
			goto directly;
		s->window_start = start;
		offset = address - start;
	}
	word = (offset >> 3) & (CAPTURE_WINDOW_WORDS - 1);
	capture_copy_words(to, s->window + word, size);
	return 0;
directly:
	return bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline long unwind_read_code(const struct unwind_walk *w, void *to, __u32 size,
					     __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline long unwind_read_far(const struct unwind_walk *w, void *to, __u32 size,
					    __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline int unwind_is_live(const struct unwind_walk *w)
{
	return 1;
}

static __always_inline __u64 *unwind_frames(struct unwind_walk *w)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);

	return s->frames;
}

/* What this CPU remembers; null: another stack in the making uses it. */
static __always_inline struct rule_cache *capture_rule_cache(const struct capture_scratch *s)
{
	__u32 cpu = s->cpu;

	return s->slot ? NULL : bpf_map_lookup_elem(&capture_rule_cache_map, &cpu);
}

/*
 * Not inlined, as the stack of a BPF program is short (512 bytes along a chain of calls), and the
 * steps of runtimes need it. Not static: the verifier looks at them once, not at each call.
 */
__weak __noinline int capture_native(struct capture_scratch *s, __u64 key)
{
	return s ? unwind_native(&s->walk, key) : 1;
}

__weak __noinline int capture_find_mapping(struct capture_scratch *s, __u64 at)
{
	return s ? unwind_find_mapping(&s->walk, at) : 0;
}

__weak __noinline int capture_find_rule(struct capture_scratch *s, __u64 at)
{
	return s ? unwind_find_rule(&s->walk, at) : 0;
}

__weak __noinline int capture_recall(struct capture_scratch *s, __u64 at)
{
	struct rule_cache *cache = s ? capture_rule_cache(s) : NULL;
	const struct rule_cache_place *known;

	known = cache ? rule_cache_find(cache, &s->expected, at, s->walk.generation) : NULL;
	if (!known)
		return 0;
	s->walk.rule = known->rule;
	return 1;
}

__weak __noinline int capture_remember(struct capture_scratch *s, __u64 at)
{
	struct rule_cache *cache = s ? capture_rule_cache(s) : NULL;

	if (cache)
		rule_cache_get(cache, &s->expected, at, s->walk.generation)->rule = s->walk.rule;
	return 0;
}

__weak __noinline int capture_restart(struct capture_scratch *s)
{
	return s ? unwind_restart(&s->walk) : 1;
}

static __always_inline int unwind_restart_here(struct unwind_walk *w)
{
	return capture_restart((void *)w - offsetof(struct capture_scratch, walk));
}

static __always_inline int unwind_native_here(struct unwind_walk *w, __u64 key)
{
	return capture_native((void *)w - offsetof(struct capture_scratch, walk), key);
}

static __always_inline int unwind_find_mapping_here(struct unwind_walk *w, __u64 at)
{
	return capture_find_mapping((void *)w - offsetof(struct capture_scratch, walk), at);
}

static __always_inline int unwind_find_rule_here(struct unwind_walk *w, __u64 at)
{
	return capture_find_rule((void *)w - offsetof(struct capture_scratch, walk), at);
}

static __always_inline int unwind_put_back_here(struct unwind_walk *w)
{
	capture_spoil_notes((void *)w - offsetof(struct capture_scratch, walk));
	return uprobes_put_back((void *)w - offsetof(struct capture_scratch, walk));
}

static __always_inline long unwind_repeat(__u32 count, long (*step)(__u32 i, void *context),
					  void *context)
{
	return bpf_loop(count, step, context, 0);
}

static __always_inline int unwind_recall(struct unwind_walk *w, __u64 at)
{
	return capture_recall((void *)w - offsetof(struct capture_scratch, walk), at);
}

static __always_inline void unwind_remember(struct unwind_walk *w, __u64 at)
{
	capture_remember((void *)w - offsetof(struct capture_scratch, walk), at);
}

/* The bit that tells an address for words from the same one for a rule. */
#define CAPTURE_IS_WORDS (1ull << 63)

/* Into, and from, s->words. */
__weak __noinline int capture_recall_words(struct capture_scratch *s, __u64 at)
{
	struct rule_cache *cache = s ? capture_rule_cache(s) : NULL;
	const struct rule_cache_place *known;

	known = cache ? rule_cache_find(cache, &s->expected, at | CAPTURE_IS_WORDS,
					s->walk.generation)
		      : NULL;
	if (!known)
		return 0;
	s->words[0] = known->words[0];
	s->words[1] = known->words[1];
	return 1;
}

__weak __noinline int capture_remember_words(struct capture_scratch *s, __u64 at)
{
	struct rule_cache *cache = s ? capture_rule_cache(s) : NULL;
	struct rule_cache_place *known;

	if (!cache)
		return 0;
	known = rule_cache_get(cache, &s->expected, at | CAPTURE_IS_WORDS, s->walk.generation);
	known->words[0] = s->words[0];
	known->words[1] = s->words[1];
	return 1;
}

static __always_inline void unwind_recall_words(const struct unwind_walk *w, __u64 at,
						__u64 words[2])
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);
	int known = capture_recall_words(s, at);

	words[0] = known ? s->words[0] : 0;
	words[1] = known ? s->words[1] : 0;
}

static __always_inline void unwind_remember_words(const struct unwind_walk *w, __u64 at,
						  __u64 first, __u64 second)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);

	s->words[0] = first;
	s->words[1] = second;
	capture_remember_words(s, at);
}

/*
 * Whose steps are in this program: a bit of each enum unwind_runtime; set before loading. None, or
 * one.
 */
const volatile __u32 capture_runtimes __weak;

/* Whether a runtime's step is here. Where it is elsewhere, the walk goes on there. */
static __always_inline int capture_has_step(struct unwind_walk *w, enum unwind_runtime runtime)
{
	if (capture_runtimes >> runtime & 1)
		return UNWIND_NATIVE;
	if (w->absent >> runtime & 1)
		return UNWIND_NEVER;
	w->wants = runtime;
	return UNWIND_ELSEWHERE;
}

/* The steps of the runtimes, in walkers.bpf.c: verified once each, not at each call. */
#define X(NAME, name) int runtime_##name(struct capture_scratch *s);
UNWIND_RUNTIMES(X)
#undef X

static __always_inline int unwind_runtime(struct unwind_walk *w)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);

	switch (w->mapping.runtime) {
#define X(NAME, name)               \
	case UNWIND_RUNTIME_##NAME: \
		return runtime_##name(s);
		UNWIND_RUNTIMES(X)
#undef X
	}
	return UNWIND_NATIVE;
}

#define X(NAME, name) int restart_##name(struct capture_scratch *s);
UNWIND_RESTARTS(X)
#undef X

static __always_inline int unwind_runtime_restart(struct unwind_walk *w)
{
	struct capture_scratch *s = (void *)w - offsetof(struct capture_scratch, walk);

	switch (w->home_runtime) {
#define X(NAME, name)               \
	case UNWIND_RUNTIME_##NAME: \
		return restart_##name(s);
		UNWIND_RESTARTS(X)
#undef X
	}
	return UNWIND_NATIVE;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_HERE_H
#define UNWIND_HERE_H

/*
 * The shared unwinder (bpf/unwind/unwind.h) for user space, with those of its questions answered
 * that have the same answer for all who compile it here. How memory, tables and frames are reached,
 * they say themselves.
 */

#include <stdint.h>

/*
 * What is one function for the kernel's verifier takes minutes to compile when each of its accesses
 * is watched.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef __always_inline
#define __always_inline inline
#endif
#endif

#include "bpf/unwind/unwind.h"
#include "bpf/unwind/runtimes.h"

static inline int unwind_native_here(struct unwind_walk *w, __u64 key)
{
	return unwind_native(w, key);
}

static inline int unwind_restart_here(struct unwind_walk *w)
{
	return unwind_restart(w);
}

static inline int unwind_find_mapping_here(struct unwind_walk *w, __u64 at)
{
	return unwind_find_mapping(w, at);
}

static inline int unwind_find_rule_here(struct unwind_walk *w, __u64 at)
{
	return unwind_find_rule(w, at);
}

/* Where stacks are finished, the copy has the program's own addresses. */
static inline int unwind_put_back_here(struct unwind_walk *w)
{
	(void)w;
	return 0;
}

static inline long unwind_repeat(__u32 count, long (*step)(__u32 i, void *context), void *context)
{
	__u32 i;

	for (i = 0; i < count && !step(i, context); i++)
		;
	return i;
}

static inline long unwind_read_down(const struct unwind_walk *w, void *to, __u32 size,
				    __u64 address)
{
	return unwind_read_far(w, to, size, address);
}

/* Stacks are few here: nothing is remembered. */
static inline int unwind_recall(struct unwind_walk *w, __u64 at)
{
	(void)w, (void)at;
	return 0;
}

static inline void unwind_remember(struct unwind_walk *w, __u64 at)
{
	(void)w, (void)at;
}

/* A caller that needs to remember words has functions of its own. */
#ifndef HERE_REMEMBERS_WORDS
static inline void unwind_recall_words(const struct unwind_walk *w, __u64 at, __u64 words[2])
{
	(void)w, (void)at;
	words[0] = words[1] = 0;
}

static inline void unwind_remember_words(const struct unwind_walk *w, __u64 at, __u64 first,
					 __u64 second)
{
	(void)w, (void)at, (void)first, (void)second;
}
#endif

static inline int unwind_runtime(struct unwind_walk *w)
{
	switch (w->mapping.runtime) {
#define X(NAME, name)               \
	case UNWIND_RUNTIME_##NAME: \
		return name##_step(w);
		UNWIND_RUNTIMES(X)
#undef X
	}
	return UNWIND_NATIVE;
}

static inline int unwind_runtime_restart(struct unwind_walk *w)
{
	switch (w->home_runtime) {
#define X(NAME, name)               \
	case UNWIND_RUNTIME_##NAME: \
		return name##_restart(w);
		UNWIND_RESTARTS(X)
#undef X
	}
	return UNWIND_NATIVE;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_SEEN_H
#define BPF_RUNTIME_HOTSPOT_SEEN_H

/*
 * Places in HotSpot's code where a stack has passed before: the blob there, and of a call in
 * compiled code all that a frame needs. An nmethod never changes where its frames are laid out, and
 * its compile id is given to no other one (CompileBroker::assign_compile_id() in
 * share/compiler/compileBroker.cpp); so if that of the blob is still the same, nothing else there
 * has to be looked at.
 */

#include "bpf/runtime/hotspot/blob.h"

/*
 * What is remembered of a place: the blob, the words of its frame (13 bits, 0: nothing is known of
 * it), its variant.
 */
#define HOTSPOT_SEEN_WORDS_SHIFT   48
#define HOTSPOT_SEEN_WORDS_MASK	   0x1fffull
#define HOTSPOT_SEEN_VARIANT_SHIFT 61

struct hotspot_seen {
	__u64 blob;
	__u32 frame_size; /* bytes; 0: the blob alone is known */
	__u32 variant;	  /* enum hotspot_variant */
	__u64 detail;	  /* word 1 of the frame */
};

static __always_inline struct hotspot_seen hotspot_recall(const struct unwind_walk *w, __u64 at)
{
	__u64 words[2];

	unwind_recall_words(w, at, words);
	return (struct hotspot_seen){
		.blob = words[0] & UNWIND_VALUE_MASK,
		.frame_size = (words[0] >> HOTSPOT_SEEN_WORDS_SHIFT & HOTSPOT_SEEN_WORDS_MASK) * 8,
		.variant = words[0] >> HOTSPOT_SEEN_VARIANT_SHIFT,
		.detail = words[1],
	};
}

/* detail 0: the blob alone. Nothing is remembered where blocks do not say whether they are used. */
static __always_inline void hotspot_remember(const struct unwind_walk *w,
					     const struct hotspot_data *d, __u64 at,
					     const struct hotspot_blob *b, __u32 variant,
					     __u64 detail)
{
	__u64 size = detail ? b->frame_size / 8 : 0;

	if (size > HOTSPOT_SEEN_WORDS_MASK)
		size = 0;
	if (d->block_used.size)
		unwind_remember_words(w, at,
				      b->at | size << HOTSPOT_SEEN_WORDS_SHIFT |
					      (__u64)variant << HOTSPOT_SEEN_VARIANT_SHIFT,
				      detail);
}

/* Whether the blob is still the nmethod of that compile id. */
UNWIND_APART int hotspot_is_still(struct unwind_walk *w, const struct hotspot_data *d, __u64 blob,
				  __u32 compile_id)
{
	const __u32 *words;
	__u32 before;

	if (!w || !d)
		return 0;
	words = (const __u32 *)w->piece;
	before = hotspot_before(d);
	return !hotspot_read_words(w, d, blob, before) &&
	       hotspot_get(words, 0, d->block_used) == 1 &&
	       hotspot_get(words, before, d->fields[HOTSPOT_COMPILE_ID]) == compile_id &&
	       hotspot_is_nmethod(w, d, words, before);
}

#endif

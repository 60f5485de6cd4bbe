/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_FIND_H
#define BPF_UNWIND_FIND_H

/* What the tables of unwind/abi.h have for an address: its mapping, and the rule for its code. */

#include "bpf/unwind/walk.h"

/* The last of a process's mappings that begins at or before address `at`; null: there is none. */
static __always_inline const struct unwind_mapping *
unwind_mapping_before(const struct unwind_walk *w, __u32 mappings, __u32 count, __u64 at)
{
	const __u32 words = sizeof(struct unwind_mapping) / 4;
	const __u32 *chunk = unwind_chunk(w, mappings >> UNWIND_CHUNK_SHIFT);
	__u32 low = mappings, left = count, i, half, word;
	const struct unwind_mapping *m;

	if (!chunk || !count)
		return 0;
	for (i = 0; i < 16; i++) {
		if (left < 2)
			break;
		half = left >> 1;
		word = (low + half * words) & (UNWIND_CHUNK_WORDS - 1);
		if (word > UNWIND_CHUNK_WORDS - words)
			return 0;
		m = (const struct unwind_mapping *)(chunk + word);
		if (m->start <= at)
			low += half * words;
		left -= half;
	}
	word = low & (UNWIND_CHUNK_WORDS - 1);
	if (word > UNWIND_CHUNK_WORDS - words)
		return 0;
	m = (const struct unwind_mapping *)(chunk + word);
	return m->start <= at ? m : 0;
}

/* Finds the mapping of address `at` and leaves it in w->mapping. False: there is none. */
static __always_inline int unwind_find_mapping(struct unwind_walk *w, __u64 at)
{
	const struct unwind_mapping *m;

	m = unwind_mapping_before(w, w->mappings, w->mapping_count, at);
	if (!m || at >= m->end)
		return 0;
	w->mapping = *m;
	return 1;
}

static __always_inline int unwind_is_in_mapping(const struct unwind_walk *w, __u64 at)
{
	return at - w->mapping.start < w->mapping.end - w->mapping.start;
}

/* Whether w->mapping is that of address `at`, or there is one, and is now. */
static __always_inline int unwind_enter_mapping(struct unwind_walk *w, __u64 at)
{
	return unwind_is_in_mapping(w, at) || unwind_find_mapping_here(w, at);
}

/* The rule for virtual address `at` of w->mapping's image, or null. */
static __always_inline const struct unwind_rule *unwind_rule_of_image(const struct unwind_walk *w,
								      __u64 at)
{
	__u64 number = (at >> UNWIND_PAGE_SHIFT) - w->mapping.first_page;
	__u32 pc = at & ((1u << UNWIND_PAGE_SHIFT) - 1);
	__u32 word, low, left, half, i, rule;
	const struct unwind_rule *rules;
	const struct unwind_row *row;
	const __u32 *chunk;

	if (number >= w->mapping.pages)
		return 0;
	word = w->mapping.directory + (__u32)number * (sizeof(struct unwind_page) / 4);
	chunk = unwind_chunk(w, word >> UNWIND_CHUNK_SHIFT);
	if (!chunk)
		return 0;
	/* a directory begins at an even word and its entries are two words: none crosses the end */
	word &= UNWIND_CHUNK_WORDS - 2;
	low = chunk[word];
	left = chunk[word + 1];
	if (!low || !left)
		return 0;

	chunk = unwind_chunk(w, low >> UNWIND_CHUNK_SHIFT);
	if (!chunk)
		return 0;
	for (i = 0; i < 17; i++) {
		if (left < 2)
			break;
		half = left >> 1;
		word = (low + half) & (UNWIND_CHUNK_WORDS - 1);
		row = (const struct unwind_row *)(chunk + word);
		/*
		 * without a branch: all ones if row->pc <= pc; half of such branches are
		 * mispredicted
		 */
		low += half & (__u32)((__s32)(row->pc - pc - 1) >> 31);
		left -= half;
	}
	row = (const struct unwind_row *)(chunk + (low & (UNWIND_CHUNK_WORDS - 1)));
	rules = unwind_rules(w);
	if (!rules)
		return 0;
	rule = row->rule;
	pc -= row->pc;
	for (i = 0; i < UNWIND_RUN_MAX - 1; i++) {
		__u32 until = rules[rule & (UNWIND_RULES_MAX - 1)].until;

		if (!until || pc < until)
			break;
		rule++;
	}
	return &rules[rule & (UNWIND_RULES_MAX - 1)];
}

/*
 * Finds the rule for code of w->mapping at address `at` and leaves it in w->rule. False: there is
 * none.
 */
static __always_inline int unwind_find_rule(struct unwind_walk *w, __u64 at)
{
	const struct unwind_rule *rule = 0;

	if (w->mapping.kind == UNWIND_MAPPING_TABLE)
		rule = unwind_rule_of_image(w, at - w->mapping.bias);
	if (!rule || rule->cfa == UNWIND_CFA_NONE)
		return 0;
	w->rule = *rule;
	return 1;
}

#endif

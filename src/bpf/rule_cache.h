/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RULE_CACHE_H
#define BPF_RULE_CACHE_H

/*
 * The rules found last on this CPU, by the address and the generation of its process's mappings: what a table says
 * of an address cannot change before the generation does. A sample comes when the caches of the CPU are full of
 * other things, and looking up a rule touches many of their lines; this touches one.
 *
 * A runtime's step may have two words remembered instead, for an address in code of its own (unwind_recall_words()).
 *
 * Only the first stack in the making on a CPU uses it: one that interrupts it could find an entry half written.
 */

#include "capture_maps.h"

#define CAPTURE_RULES 4096

struct capture_rule {
	__u64 at;
	__u32 generation; /* 0: free */
	union {
		struct unwind_rule rule;
		__u64 words[2];
	};
};

struct capture_rule_cache {
	struct capture_rule rules[CAPTURE_RULES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* of each CPU */
	__type(key, __u32);
	__type(value, struct capture_rule_cache);
} capture_rule_cache_map SEC(".maps") __weak;

static __always_inline struct capture_rule *capture_rule_of(const struct capture_scratch *s,
							    __u64 at)
{
	__u32 cpu = s->cpu;
	struct capture_rule_cache *cache;
	__u64 mixed = at + s->walk.generation * 0x9e3779b97f4a7c15ull;

	if (s->slot)
		return NULL;
	cache = bpf_map_lookup_elem(&capture_rule_cache_map, &cpu);
	mixed = mixed * 0x9e3779b97f4a7c15ull >> 52;
	return cache ? &cache->rules[mixed & (CAPTURE_RULES - 1)] : NULL;
}

/* Not inlined, as the stack of a BPF program is short. */
static __noinline int capture_recall(struct capture_scratch *s, __u64 at)
{
	const struct capture_rule *known = capture_rule_of(s, at);

	if (!known || known->at != at || known->generation != s->walk.generation)
		return 0;
	s->walk.rule = known->rule;
	return 1;
}

static __noinline int capture_remember(struct capture_scratch *s, __u64 at)
{
	struct capture_rule *known = capture_rule_of(s, at);

	if (!known)
		return 0;
	known->at = at;
	known->generation = s->walk.generation;
	known->rule = s->walk.rule;
	return 0;
}

/* The bit that tells an address for words from the same one for a rule. */
#define CAPTURE_IS_WORDS (1ull << 63)

static __always_inline void capture_recall_words(const struct capture_scratch *s, __u64 at,
						 __u64 words[2])
{
	const struct capture_rule *known = capture_rule_of(s, at | CAPTURE_IS_WORDS);
	int is_it = known && known->at == (at | CAPTURE_IS_WORDS) &&
		    known->generation == s->walk.generation;

	words[0] = is_it ? known->words[0] : 0;
	words[1] = is_it ? known->words[1] : 0;
}

static __always_inline void capture_remember_words(const struct capture_scratch *s, __u64 at,
						   __u64 first, __u64 second)
{
	struct capture_rule *known = capture_rule_of(s, at | CAPTURE_IS_WORDS);

	if (!known)
		return;
	known->at = at | CAPTURE_IS_WORDS;
	known->generation = s->walk.generation;
	known->words[0] = first;
	known->words[1] = second;
}

#endif

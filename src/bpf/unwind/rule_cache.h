/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_UNWIND_RULE_CACHE_H
#define BPF_UNWIND_RULE_CACHE_H

/*
 * The rules found last on a CPU, by the address and the generation of its process's mappings: what
 * a table says of an address cannot change before the generation does. A runtime's step may have
 * two words remembered instead, for an address in code of its own (unwind_recall_words()).
 *
 * A sample comes when the CPU's caches are full of other things: a line of memory then takes longer
 * than all that is done with it, and the first one of a page longer still (bench/cold-stacks). So
 * what is remembered lies in the order in which stacks were walked: frames that once stood behind
 * each other mostly do so again. What is asked for is looked for right behind what was found last,
 * and only if it is not there, by the index. When all places are taken, the oldest is written over.
 */

#include "bpf/unwind/abi.h"

#define RULE_CACHE_SHIFT  11
#define RULE_CACHE_PLACES (1u << RULE_CACHE_SHIFT)
#define RULE_CACHE_MASK	  (RULE_CACHE_PLACES - 1)

struct rule_cache_place {
	__u64 key;
	__u32 generation; /* 0: free */
	union {
		struct unwind_rule rule;
		__u64 words[2];
	};
};

struct rule_cache {
	struct rule_cache_place places[RULE_CACHE_PLACES];
	/*
	 * By hash, the last two places that keys of that hash were given, the later one in the
	 * lower half. Above the number of a place stand bits of its hash, so that another key's
	 * place is seldom looked at.
	 */
	__u32 index[RULE_CACHE_PLACES];
	__u32 oldest; /* the place that is taken next */
};

static __always_inline __u64 rule_cache_hash(__u64 key, __u32 generation)
{
	return (key + generation * 0x9e3779b97f4a7c15ull) * 0x9e3779b97f4a7c15ull;
}

/* The entry of the index for keys of that hash. */
static __always_inline __u32 *rule_cache_entry(struct rule_cache *cache, __u64 hash)
{
	return &cache->index[hash >> (64 - RULE_CACHE_SHIFT)];
}

/* Half of the hash, without the place: other bits of the hash than those that chose the entry. */
static __always_inline __u32 rule_cache_tag(__u64 hash)
{
	return hash >> 32 & 0xffff & ~RULE_CACHE_MASK;
}

static __always_inline int rule_cache_is(const struct rule_cache *cache, __u32 place, __u64 key,
					 __u32 generation)
{
	const struct rule_cache_place *known = &cache->places[place & RULE_CACHE_MASK];

	return known->key == key && known->generation == generation;
}

/* The same, if half an entry of the index leads there. */
static __always_inline int rule_cache_leads(const struct rule_cache *cache, __u32 half, __u64 key,
					    __u32 generation)
{
	return (half & ~RULE_CACHE_MASK) == rule_cache_tag(rule_cache_hash(key, generation)) &&
	       rule_cache_is(cache, half, key, generation);
}

/*
 * Where something is remembered, and *expected the place behind it; null: it is not. A key that is
 * gone from the index may be given a second place, and the first one is still found in its row:
 * what is remembered of a key must be as true later as it was when it was new.
 */
static __always_inline struct rule_cache_place *
rule_cache_find(struct rule_cache *cache, __u32 *expected, __u64 key, __u32 generation)
{
	__u32 place = *expected, both;

	if (!rule_cache_is(cache, place, key, generation)) {
		both = *rule_cache_entry(cache, rule_cache_hash(key, generation));
		if (rule_cache_leads(cache, both & 0xffff, key, generation))
			place = both;
		else if (rule_cache_leads(cache, both >> 16, key, generation))
			place = both >> 16;
		else
			return 0;
	}
	place &= RULE_CACHE_MASK;
	*expected = place + 1;
	return &cache->places[place];
}

/*
 * The place for something to be remembered: the one that was just found for it, if so, or a new
 * one.
 */
static __always_inline struct rule_cache_place *
rule_cache_get(struct rule_cache *cache, __u32 *expected, __u64 key, __u32 generation)
{
	__u64 hash = rule_cache_hash(key, generation);
	__u32 *both = rule_cache_entry(cache, hash), place = *expected - 1;
	struct rule_cache_place *known;

	if (rule_cache_is(cache, place, key, generation))
		return &cache->places[place & RULE_CACHE_MASK];
	known = rule_cache_find(cache, expected, key, generation);
	if (known)
		return known;
	place = cache->oldest & RULE_CACHE_MASK;
	cache->oldest = place + 1;
	*both = *both << 16 | rule_cache_tag(hash) | place;
	*expected = place + 1;
	known = &cache->places[place];
	known->key = key;
	known->generation = generation;
	return known;
}

#endif

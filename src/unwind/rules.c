// SPDX-License-Identifier: Apache-2.0
#include "unwind/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A hash table of indices over the rules themselves. The end of a run is marked by until 0, so an
 * index alone says where the run begins and how long it is, and each tail of a run is a run, too.
 */
#define SLOTS (2 * UNWIND_RULES_MAX)

/* From here on only single rules are added: they must never be refused for the sake of a run. */
#define RUNS_MAX (UNWIND_RULES_MAX / 2)

/*
 * Most runs that a program could have occur once or twice. A run gets room once it was asked for
 * twice; what is demanded doubles with every RUNS_STEP rules, up to SEEN_MOST, so that the room is
 * left to the runs that are frequent on this machine. What was asked for is kept in a small table
 * where a newcomer wears down the entry that has its place before it gets it (as Misra and Gries
 * count frequent items); two runs taken for the same one only cost a little room.
 */
#define RUNS_STEP (UNWIND_RULES_MAX / 32)
#define SEEN	  65536
#define SEEN_MOST 200

struct seen {
	uint8_t tag, count;
};

struct unwind_rules {
	struct unwind_rule *memory;
	unsigned int count;
	struct seen seen[SEEN];
	uint16_t slots[SLOTS]; /* an index; 0: free (the rule 0 is never looked for here) */
};

static uint64_t hash_run(const struct unwind_rule *run, unsigned int count)
{
	uint64_t words[2], h = count;
	unsigned int i;

	_Static_assert(sizeof(words) == sizeof(*run), "a rule is two words");
	for (i = 0; i < count; i++) {
		memcpy(words, &run[i], sizeof(words));
		h = (h ^ words[0]) * 0x9e3779b97f4a7c15ull;
		h = ((h << 29 | h >> 35) ^ words[1]) * 0xbf58476d1ce4e5b9ull;
		h ^= h >> 32;
	}
	return h;
}

/* Counts that the run was asked for, and tells whether that was often enough. */
static bool is_worth_it(struct unwind_rules *rules, uint64_t hash)
{
	struct seen *seen = &rules->seen[(hash >> 24) % SEEN];
	unsigned int demanded = 2u << (rules->count / RUNS_STEP);
	uint8_t tag = hash >> 56;

	if (seen->count && seen->tag != tag) {
		seen->count--;
		return false;
	}
	seen->tag = tag;
	if (seen->count < SEEN_MOST)
		seen->count++;
	return seen->count >= (demanded < SEEN_MOST ? demanded : SEEN_MOST);
}

/* The slot of this run, or the free one where it would go. The table is never full. */
static uint32_t find(const struct unwind_rules *rules, const struct unwind_rule *run,
		     unsigned int count, uint64_t hash)
{
	uint32_t i = hash & (SLOTS - 1);

	for (; rules->slots[i]; i = (i + 1) & (SLOTS - 1)) {
		unsigned int index = rules->slots[i];

		/*
		 * the last of a run differs from an inner rule in its until, so no compare runs
		 * over
		 */
		if (index + count <= rules->count &&
		    !memcmp(&rules->memory[index], run, count * sizeof(*run)))
			break;
	}
	return i;
}

static unsigned int add(struct unwind_rules *rules, const struct unwind_rule *run,
			unsigned int count)
{
	unsigned int index = rules->count, tail;

	memcpy(&rules->memory[index], run, count * sizeof(*run));
	rules->count += count;
	for (tail = 0; tail < count; tail++) {
		uint64_t hash = hash_run(run + tail, count - tail);
		uint32_t slot = find(rules, run + tail, count - tail, hash);

		if (!rules->slots[slot])
			rules->slots[slot] = (uint16_t)(index + tail);
	}
	return index;
}

int unwind_rules_new(struct unwind_rule *memory, struct unwind_rules **rules)
{
	static const struct unwind_rule end = {.cfa = UNWIND_CFA_END};
	static const struct unwind_rule unsupported = {.cfa = UNWIND_CFA_UNSUPPORTED};
	struct unwind_rules *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->memory = memory;
	memory[UNWIND_RULE_NONE] = (struct unwind_rule){.cfa = UNWIND_CFA_NONE};
	r->count = 1;
	add(r, &end, 1);
	add(r, &unsupported, 1);
	*rules = r;
	return 0;
}

void unwind_rules_free(struct unwind_rules *rules)
{
	free(rules);
}

int unwind_rules_run(struct unwind_rules *rules, const struct unwind_rule *run, unsigned int count,
		     bool *full)
{
	uint64_t hash;
	uint32_t slot;

	if (count == 1 && run->cfa == UNWIND_CFA_NONE)
		return UNWIND_RULE_NONE;
	hash = hash_run(run, count);
	slot = find(rules, run, count, hash);
	if (rules->slots[slot])
		return rules->slots[slot];
	if (count > 1 && (rules->count + count > RUNS_MAX || !is_worth_it(rules, hash)))
		return -1;
	if (rules->count + count > UNWIND_RULES_MAX) {
		*full = true;
		return UNWIND_RULE_UNSUPPORTED;
	}
	return (int)add(rules, run, count);
}

unsigned int unwind_rules_count(const struct unwind_rules *rules)
{
	return rules->count;
}

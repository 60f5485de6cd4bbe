// SPDX-License-Identifier: Apache-2.0
#include "unwind/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/*
 * A hash table of indices over the rules themselves. The end of a run is marked by until 0, so an
 * index alone says where the run begins and how long it is, and each tail of a run is a run, too.
 */
#define SLOTS (2 * UNWIND_RULES_MAX)

/* From here on only single rules are added: they must never be refused for the sake of a run. */
#define RUNS_MAX (UNWIND_RULES_MAX / 2)

struct unwind_rules {
	struct unwind_rule *memory;
	unsigned int count;
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

/* The slot of this run, or the free one where it would go. The table is never full. */
static uint32_t find(const struct unwind_rules *rules, const struct unwind_rule *run,
		     unsigned int count)
{
	uint32_t i = hash_run(run, count) & (SLOTS - 1);

	for (; rules->slots[i]; i = (i + 1) & (SLOTS - 1)) {
		unsigned int index = rules->slots[i];

		/* the last of a run differs from an inner rule in its until, so no compare runs over */
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
		uint32_t slot = find(rules, run + tail, count - tail);

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
	uint32_t slot;

	if (count == 1 && run->cfa == UNWIND_CFA_NONE)
		return UNWIND_RULE_NONE;
	slot = find(rules, run, count);
	if (rules->slots[slot])
		return rules->slots[slot];
	if (count > 1 && rules->count + count > RUNS_MAX)
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

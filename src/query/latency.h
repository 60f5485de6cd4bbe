/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LATENCY_H
#define QUERY_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LATENCY_POWERS = 64,
	LATENCY_PARTS_LOG = 5,
	LATENCY_PARTS = 1 << LATENCY_PARTS_LOG /* of each power of two */
};

/*
 * How often something took how long. Each power of two is split into equal parts, so that a value
 * is known to 1/32 of itself. Only powers that occur take memory. All zero is empty.
 */
struct latency {
	uint64_t *powers[LATENCY_POWERS];
	uint64_t count;
	bool is_coarse; /* only the power of two of each value is known */
};

static inline unsigned int latency_power_of(uint64_t ns)
{
	return 63 - (unsigned int)__builtin_clzll(ns | 1);
}

/* Below 32, each value has a part of its own. */
static inline unsigned int latency_part_of(uint64_t ns, unsigned int power)
{
	if (power <= LATENCY_PARTS_LOG)
		return (unsigned int)(power ? ns - (1ull << power) : ns);
	return (unsigned int)(ns >> (power - LATENCY_PARTS_LOG)) & (LATENCY_PARTS - 1);
}

/* Makes room for the values of a power. False: no memory. */
bool latency_new_power(struct latency *l, unsigned int power);

/* Adds that many values of ns. Returns false: no memory. */
static inline bool latency_add(struct latency *l, uint64_t ns, uint64_t count)
{
	unsigned int power = latency_power_of(ns);

	if (!l->powers[power] && !latency_new_power(l, power))
		return false;
	l->powers[power][latency_part_of(ns, power)] += count;
	l->count += count;
	return true;
}

/* Adds what another one holds. Returns false: no memory. */
bool latency_merge(struct latency *l, const struct latency *other);

/*
 * The value that this many of a thousand do not exceed: 500 is the median. Within 1/64; within
 * a power of two where it is coarse. 0 where there are no values.
 */
uint64_t latency_quantile(const struct latency *l, unsigned int of_thousand);

/* How many values lie in [2^power, 2^(power + 1)); power 0 also holds 0. */
uint64_t latency_power(const struct latency *l, unsigned int power);

void latency_free(struct latency *l);

#endif

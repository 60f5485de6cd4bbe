/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LATENCY_H
#define QUERY_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LATENCY_POWERS = 64,
	LATENCY_PARTS_LOG = 5,
	LATENCY_PARTS = 1 << LATENCY_PARTS_LOG /* parts of each power of two */
};

/*
 * A histogram of durations. Each power of two is split into equal parts, so values are accurate to
 * 1/32. Only powers that occur take memory. All zero is empty.
 */
struct latency {
	uint64_t *powers[LATENCY_POWERS];
	uint64_t count;
	bool is_coarse; /* values are only accurate to a power of two */
};

static inline unsigned int latency_power_of(uint64_t ns)
{
	return 63 - (unsigned int)__builtin_clzll(ns | 1);
}

/* Each value below 32 has a part of its own. */
static inline unsigned int latency_part_of(uint64_t ns, unsigned int power)
{
	if (power <= LATENCY_PARTS_LOG)
		return (unsigned int)(power ? ns - (1ull << power) : ns);
	return (unsigned int)(ns >> (power - LATENCY_PARTS_LOG)) & (LATENCY_PARTS - 1);
}

/* Allocates the parts of a power. False: no memory. */
bool latency_new_power(struct latency *l, unsigned int power);

/* Adds count values of ns. False: no memory. */
static inline bool latency_add(struct latency *l, uint64_t ns, uint64_t count)
{
	unsigned int power = latency_power_of(ns);

	if (!l->powers[power] && !latency_new_power(l, power))
		return false;
	l->powers[power][latency_part_of(ns, power)] += count;
	l->count += count;
	return true;
}

/* Adds another histogram. False: no memory. */
bool latency_merge(struct latency *l, const struct latency *other);

/*
 * The value that of_thousand of 1000 values do not exceed: 500 is the median. Accurate to 1/64, or
 * to a power of two if is_coarse. 0: no values.
 */
uint64_t latency_quantile(const struct latency *l, unsigned int of_thousand);

/* The number of values in [2^power, 2^(power + 1)); power 0 includes 0. */
uint64_t latency_power(const struct latency *l, unsigned int power);

void latency_free(struct latency *l);

#endif

// SPDX-License-Identifier: Apache-2.0
#include "query/latency.h"

#include <stdlib.h>

bool latency_new_power(struct latency *l, unsigned int power)
{
	l->powers[power] = calloc(LATENCY_PARTS, sizeof(**l->powers));
	return l->powers[power];
}

bool latency_merge(struct latency *l, const struct latency *other)
{
	l->is_coarse |= other->is_coarse;
	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		if (!other->powers[power])
			continue;
		/* makes room, adds nothing */
		if (!latency_add(l, 1ull << power, 0))
			return false;
		for (unsigned int part = 0; part < LATENCY_PARTS; part++)
			l->powers[power][part] += other->powers[power][part];
	}
	l->count += other->count;
	return true;
}

/*
 * The value in the middle of a part, or, of a whole power, where that many of its values lie below.
 */
static uint64_t value_of(unsigned int power, unsigned int part)
{
	uint64_t low = power ? 1ull << power : 0, width;

	if (power <= LATENCY_PARTS_LOG)
		return low + part;
	width = 1ull << (power - LATENCY_PARTS_LOG);
	return low + part * width + width / 2;
}

static uint64_t value_within(unsigned int power, uint64_t rank, uint64_t count)
{
	uint64_t low = power ? 1ull << power : 0, width = 1ull << power;

	return low + (uint64_t)((double)width * ((double)rank - 0.5) / (double)count);
}

uint64_t latency_quantile(const struct latency *l, unsigned int of_thousand)
{
	/* the smallest rank, counted from 1, that has as many below or at it */
	uint64_t rank = (uint64_t)(((unsigned __int128)l->count * of_thousand + 999) / 1000);

	if (!l->count)
		return 0;
	rank = rank ? rank : 1;
	for (unsigned int power = 0; power < LATENCY_POWERS; power++) {
		uint64_t all = latency_power(l, power);

		if (rank > all) {
			rank -= all;
			continue;
		}
		if (l->is_coarse)
			return value_within(power, rank, all);
		for (unsigned int part = 0; part < LATENCY_PARTS; part++) {
			if (rank <= l->powers[power][part])
				return value_of(power, part);
			rank -= l->powers[power][part];
		}
	}
	return UINT64_MAX;
}

uint64_t latency_power(const struct latency *l, unsigned int power)
{
	uint64_t count = 0;

	for (unsigned int part = 0; l->powers[power] && part < LATENCY_PARTS; part++)
		count += l->powers[power][part];
	return count;
}

void latency_free(struct latency *l)
{
	for (unsigned int power = 0; power < LATENCY_POWERS; power++)
		free(l->powers[power]);
	*l = (struct latency){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_SUMS_H
#define FILM_SUMS_H

#include "film/column.h"
#include "film/film.h"
#include "film/samples.h"

/* The layouts of blocks of probes, of costs (probes with their error) and of sums. Their functions are as those of catalogue.h. */

enum {
	PROBE_COLUMNS = 3,
	COST_COLUMNS = 4,
	SUM_COLUMNS = 9 + FILM_SUM_BUCKETS,
};

/* Packs at most FILM_BLOCK_MAX of them, at least one, into c->packed. 0, or a negative errno. */
int probes_pack(struct columns *c, const struct film_probe *probes, size_t count);
int costs_pack(struct columns *c, const struct film_probe *probes, size_t count);
int sums_pack(struct columns *c, const struct film_sum *sums, size_t count);

/* The sum of what the functions spent themselves: what the row of a block of sums says as its total. */
uint64_t sums_total(const struct film_sum *sums, size_t count);

/*
 * Fills count of them. -EBADMSG: the data is not valid, names a frame from frames on, or, for sums, does
 * not agree with total.
 */
int probes_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		  struct film_probe *probes, size_t count);
int costs_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		 struct film_probe *probes, size_t count);
int sums_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		uint64_t total, struct film_sum *sums, size_t count);

#endif

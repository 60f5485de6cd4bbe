/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_SAMPLES_H
#define FILM_SAMPLES_H

#include "film/column.h"
#include "film/film.h"

/* The layout of a block of samples: the columns time, thread, stack, value. */

struct film_sample {
	uint64_t time, value;
	uint32_t thread, stack;
};

/* What stands beside a block in its row. */
struct film_span {
	uint64_t t0, t1; /* of the first and the last sample */
	uint64_t total;	 /* sum of the values, UINT64_MAX if it does not fit */
	uint32_t count;
};

/* a + b, or UINT64_MAX if it does not fit: a sum that is too large must not look like a small one */
static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Packs samples (sorted by time, at least one) into c->packed and says in *span what they are. */
int samples_pack(struct columns *c, const struct film_sample *samples, size_t count,
		 struct film_span *span);

/* Takes blocks of samples apart; one of these serves many blocks. All zero is empty. */
struct samples_reader {
	struct column_reader columns;
	vec(uint64_t) time;
	vec(uint64_t) value;
	vec(uint32_t) thread;
	vec(uint32_t) stack;
};

/*
 * *samples points into r until the next call. -EBADMSG when the data is not valid, is not what span
 * says, or names a thread or stack from threads or stacks on.
 */
int samples_unpack(struct samples_reader *r, const void *data, size_t size,
		   const struct film_span *span, uint32_t threads, uint32_t stacks,
		   struct film_samples *samples);
void samples_reader_free(struct samples_reader *r);

#endif

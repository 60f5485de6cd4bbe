/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_CELLS_H
#define STORE_CELLS_H

#include <stdint.h>

#include "base/vec.h"
#include "film/column.h"

/* What was spent in one path, in some minute or hour of one series. */
struct cell {
	uint32_t path;
	uint64_t samples, value;
};

/* Beside each list of cells. */
struct cell_sum {
	uint64_t samples, total;
	uint64_t truncated, guessed; /* of samples */
	uint32_t cells;
};

struct cell_list {
	struct cell *at;
	size_t count, room;
};

void cell_sum_add(struct cell_sum *to, const struct cell_sum *more);

/* Adds more, sorted by path like the list itself, to the list. 0 or -ENOMEM. */
int cells_merge(struct cell_list *list, const struct cell *more, size_t count);

/*
 * Packs lists, one behind the other, each sorted by path, counts[i] cells in list i. At least one
 * cell in all. The columns: path, in each list as the difference to the one before; value; samples.
 * 0 or -ENOMEM.
 */
int cells_pack(struct columns *c, const struct cell *cells, const uint32_t *counts, size_t lists);

/* Takes them apart; one of these serves many. All zero is empty. */
struct cells_reader {
	struct column_reader columns;
	vec(uint64_t) path;
	vec(uint64_t) value;
	vec(uint64_t) samples;
};

/*
 * Fills r->path, r->value and, if wanted, r->samples. counts and lists: as they were packed.
 * -EBADMSG: the data is not valid, or names a path from paths on; -ENOMEM.
 */
int cells_unpack(struct cells_reader *r, const void *data, size_t size, const uint32_t *counts,
		 size_t lists, uint32_t paths, bool with_samples);
void cells_reader_free(struct cells_reader *r);

/* The sums of an hour's minutes as five columns: samples, total, truncated, guessed, cells. */
enum {
	HOUR_MINUTES = 60
};
int minutes_pack(struct columns *c, const struct cell_sum *sums);
int minutes_unpack(struct cells_reader *r, const void *data, size_t size, struct cell_sum *sums);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_UNPACK_H
#define FILM_UNPACK_H

#include "film/kinds.h"

/* Takes blocks of what was observed apart; one of these serves many blocks. All zero is empty. */
struct film_unpacker {
	struct calls_reader calls;
	struct column_reader columns;
	vec(uint64_t) scratch;
	vec(uint64_t) cells; /* of the block at hand */
};

/*
 * What was in a block: columns in view if its kind has such, else rows. It points into the
 * unpacker.
 */
struct film_unpacked {
	const struct film_kind *kind;
	struct film_span span; /* of the block */
	union film_view view;
	const void *rows;
	size_t row_count;
};

/*
 * Takes a block apart, until the next one. -EBADMSG when the data is not valid, is not what span
 * says, or names what is not within limits; -ENOMEM.
 */
int film_unpack(struct film_unpacker *u, const struct film_kind *kind,
		const struct layout_limits *limits, const struct film_span *span, const void *data,
		size_t size, struct film_unpacked *unpacked);
void film_unpacker_free(struct film_unpacker *u);

static inline size_t film_unpacked_count(const struct film_unpacked *unpacked)
{
	return unpacked->kind->layout.view_size ? unpacked->view.count : unpacked->row_count;
}

/* The numbers of a column, as many as that. */
struct layout_cells film_unpacked_cells(const struct film_unpacked *unpacked, unsigned int column);

/* Leaves of a view what is in [from, to). */
void film_view_cut(const struct film_kind *kind, union film_view *view, uint64_t from, uint64_t to);

/* A view of a kind whose rows are samples, as such. */
struct film_samples film_view_samples(const struct film_kind *kind, const union film_view *view);

#endif

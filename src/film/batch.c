// SPDX-License-Identifier: Apache-2.0
#include "film/batch.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct film_row_kind film_row_kinds[FILM_ROW_KINDS] = {
	[FILM_ROW_META_NUMBER] = {"ti", "REPLACE INTO meta VALUES(?, ?)"},
	[FILM_ROW_META_TEXT] = {"tt", "REPLACE INTO meta VALUES(?, ?)"},
	[FILM_ROW_EVENT] = {"ittti", "INSERT INTO event VALUES(?, ?, ?, ?, ?)"},
	[FILM_ROW_PROCESS] = {"iiiiittttttt",
			      "REPLACE INTO process VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
	[FILM_ROW_THREAD] = {"iiiit", "REPLACE INTO thread VALUES(?, ?, ?, ?, ?)"},
	[FILM_ROW_IMAGE] = {"iitb", "INSERT INTO image VALUES(?, ?, ?, ?)"},
	[FILM_ROW_FILE] = {"it", "INSERT INTO file VALUES(?, ?)"},
	[FILM_ROW_LOSS] = {"iiti", "REPLACE INTO loss VALUES(?, ?, ?, ?)"},
	[FILM_ROW_FUNCTIONS] = {"iib", "INSERT INTO function VALUES(?, ?, ?)"},
	[FILM_ROW_FRAMES] = {"iib", "INSERT INTO frame VALUES(?, ?, ?)"},
	[FILM_ROW_NAMES] = {"ib", "INSERT INTO name(n, data) VALUES(?, ?)"},
	[FILM_ROW_STARTS] = {"ib", "INSERT INTO start(n, data) VALUES(?, ?)"},
	[FILM_ROW_STACKS] = {"iib", "INSERT INTO stack VALUES(?, ?, ?)"},
	[FILM_ROW_PROCESSES] = {"iib", "INSERT INTO processes VALUES(?, ?, ?)"},
	[FILM_ROW_THREADS] = {"iib", "INSERT INTO threads VALUES(?, ?, ?)"},
	[FILM_ROW_BLOCK] = {"iiiiiib", "INSERT INTO block(event, kind, t0, t1, n, total, data) "
				       "VALUES(?, ?, ?, ?, ?, ?, ?)"},
};

void film_put_row(struct buf *rows, enum film_row kind, ...)
{
	const char *parameter;
	va_list args;

	va_start(args, kind);
	buf_put_u8(rows, (uint8_t)kind);
	for (parameter = film_row_kinds[kind].parameters; *parameter; parameter++) {
		const void *bytes;
		size_t size;

		if (*parameter == 'i') {
			buf_put_varint(rows, va_arg(args, uint64_t));
			continue;
		}
		bytes = va_arg(args, const void *);
		size = *parameter == 't' ? strlen(bytes) : va_arg(args, size_t);
		buf_put_varint(rows, size);
		buf_put(rows, bytes, size);
	}
	va_end(args);
}

/* Spare memory: bytes that are worth to be kept, and those that are not too many. */
#define SPARE_LEAST (256u << 10)
#define SPARE_MOST  (32u << 20)

/* Room is made at once for this many rows. */
static size_t first_room(const struct film_kind *kind)
{
	/* memory that is not touched costs nothing: it may stay nearly empty */
	return kind->many ? FILM_BLOCK_MAX : 16;
}

static struct film_rows *begin_rows(struct film_pile *pile, uint64_t from, uint64_t to)
{
	struct film_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->from = from;
	rows->to = to;
	if (pile->last)
		pile->last->next = rows;
	else
		pile->first = rows;
	pile->last = rows;
	return rows;
}

/* What is sorted is so as a whole, and cut into blocks then; else a list is a block. */
static bool has_room(const struct film_kind *kind, const struct film_rows *rows, uint64_t from,
		     uint64_t to)
{
	return kind->sorted ||
	       (rows->count < FILM_BLOCK_MAX && rows->from == from && rows->to == to);
}

/* Whether rows that grow get the spare memory: it is not for a few. */
static bool wants_spare(const struct film_batch *batch, const struct film_kind *kind, size_t room)
{
	size_t bytes = room * kind->layout.row_size;

	return !kind->many && bytes >= SPARE_LEAST && bytes <= batch->spare.size;
}

static bool grow(struct film_batch *batch, const struct film_kind *kind, struct film_rows *rows)
{
	size_t room = rows->room ? 2 * rows->room : first_room(kind), size = kind->layout.row_size;
	uint8_t *at;

	if (wants_spare(batch, kind, room)) {
		at = batch->spare.at;
		if (rows->count)
			memcpy(at, rows->at, rows->count * size);
		free(rows->at);
		room = batch->spare.size / size;
		batch->spare = (struct film_spare){0};
	} else {
		at = realloc(rows->at, room * size);
	}
	if (!at)
		return false;
	batch->pile_bytes += kind->many ? 0 : (room - rows->room) * size;
	rows->at = at;
	rows->room = room;
	return true;
}

void *film_batch_rows(struct film_batch *batch, enum film_block_kind number, uint32_t event,
		      uint64_t from, uint64_t to, size_t *count)
{
	const struct film_kind *kind = film_kind(number);
	struct film_pile *pile = &batch->piles[number][event];
	struct film_rows *rows = pile->last;
	size_t size = kind->layout.row_size, first, left;

	if (!rows || !has_room(kind, rows, from, to))
		rows = begin_rows(pile, from, to);
	if (!rows || (rows->count == rows->room && !grow(batch, kind, rows)))
		return NULL;
	left = rows->room - rows->count;
	if (!kind->sorted && FILM_BLOCK_MAX - rows->count < left)
		left = FILM_BLOCK_MAX - rows->count;
	if (*count > left)
		*count = left;
	batch->pile_bytes += kind->many ? *count * size : 0;
	batch->piled[number] += *count * size;
	first = rows->count;
	rows->count += *count;
	return rows->at + first * size;
}

struct film_spare film_batch_steal_spare(struct film_batch *batch)
{
	struct film_spare spare = {0};
	struct film_rows *of = NULL;

	for (size_t i = 0; i < FILM_BLOCK_KINDS; i++) {
		size_t row = film_kind(i) ? film_kind(i)->layout.row_size : 0;

		if (!batch->piled[i] || film_kind(i)->many)
			continue;
		for (size_t event = 0; event < FILM_EVENTS_MAX; event++) {
			struct film_rows *rows = batch->piles[i][event].first;

			for (; rows; rows = rows->next)
				if (rows->room * row > spare.size &&
				    rows->room * row <= SPARE_MOST) {
					spare = (struct film_spare){rows->at, rows->room * row};
					of = rows;
				}
		}
	}
	if (!of || spare.size < SPARE_LEAST)
		return (struct film_spare){0};
	of->at = NULL;
	return spare;
}

static void free_piles(struct film_batch *batch)
{
	for (size_t i = 0; i < FILM_BLOCK_KINDS; i++) {
		if (!batch->piled[i])
			continue;
		for (size_t event = 0; event < FILM_EVENTS_MAX; event++) {
			struct film_rows *rows = batch->piles[i][event].first, *next;

			for (; rows; rows = next) {
				next = rows->next;
				free(rows->at);
				free(rows);
			}
		}
	}
}

uint64_t film_batch_samples(const struct film_batch *batch)
{
	uint64_t count = 0;

	for (unsigned int i = FILM_BLOCK_SAMPLES; i < FILM_BLOCK_KINDS; i++)
		if (film_kind(i)->stack)
			count += batch->piled[i] / film_kind(i)->layout.row_size;
	return count;
}

size_t film_batch_size(const struct film_batch *batch)
{
	size_t size = sizeof(*batch) + batch->rows.room;

	size += batch->functions.room * sizeof(*batch->functions.at) + batch->name_bytes;
	size += batch->frames.room * sizeof(*batch->frames.at);
	size += batch->stacks.room * sizeof(*batch->stacks.at);
	size += batch->names.room * sizeof(*batch->names.at);
	size += batch->starts.room * sizeof(*batch->starts.at);
	size += batch->processes.room * sizeof(*batch->processes.at);
	size += batch->threads.room * sizeof(*batch->threads.at);
	return size + batch->pile_bytes;
}

void film_batch_free(struct film_batch *batch)
{
	if (!batch)
		return;
	free_piles(batch);
	free(batch->spare.at);
	vec_free(&batch->functions);
	arena_free(&batch->names_of_functions);
	vec_free(&batch->frames);
	vec_free(&batch->stacks);
	vec_free(&batch->names);
	vec_free(&batch->starts);
	vec_free(&batch->processes);
	vec_free(&batch->threads);
	buf_free(&batch->rows);
	free(batch);
}

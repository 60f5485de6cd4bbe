// SPDX-License-Identifier: Apache-2.0
#include "film/catalogue_blocks.h"

#include <stdlib.h>

#include "film/processes.h"

/* More than that (bytes of names; stacks) is compressed at a lower level, which is faster. */
#define NAMES_SMALLEST	(4u << 20)
#define STACKS_SMALLEST (1u << 18)

struct output {
	struct film_catalogue *c;
	int (*write)(void *context, const struct buf *row);
	void *context;
};

/* Hands over the operation in c->row, which then is empty again. */
static int write_own_row(const struct output *o)
{
	int rc = o->write(o->context, &o->c->row);

	o->c->row.count = 0;
	return rc;
}

/* Writes the block in c->columns as a row whose id is that of the block's first entry. */
static int write_block(const struct output *o, enum film_row kind, size_t id, size_t count)
{
	film_put_row(&o->c->row, kind, (uint64_t)id, (uint64_t)count, o->c->columns.packed.at,
		     o->c->columns.packed.count);
	return write_own_row(o);
}

static size_t at_most(size_t count, size_t max)
{
	return count < max ? count : max;
}

static int write_functions(const struct output *o, const struct film_batch *batch)
{
	size_t from, count;
	int rc = SQLITE_OK;

	for (from = 0; rc == SQLITE_OK && from < batch->functions.count; from += count) {
		const struct film_function *functions = batch->functions.at + from;

		count = functions_per_block(functions, batch->functions.count - from);
		if (functions_pack(&o->c->columns, functions, count))
			return SQLITE_NOMEM;
		rc = write_block(o, FILM_ROW_FUNCTIONS, batch->first.function + from, count);
	}
	return rc;
}

static int write_frames(const struct output *o, const struct film_batch *batch)
{
	size_t from, count;
	int rc = SQLITE_OK;

	for (from = 0; rc == SQLITE_OK && from < batch->frames.count; from += count) {
		count = at_most(batch->frames.count - from, FILM_BLOCK_MAX);
		if (places_pack(&o->c->columns, batch->frames.at + from, count))
			return SQLITE_NOMEM;
		rc = write_block(o, FILM_ROW_FRAMES, batch->first.frame + from, count);
	}
	return rc;
}

static int write_stacks(const struct output *o, const struct film_batch *batch)
{
	size_t from, count;
	int rc = SQLITE_OK;

	for (from = 0; rc == SQLITE_OK && from < batch->stacks.count; from += count) {
		uint32_t id = batch->first.stack + (uint32_t)from;

		count = at_most(batch->stacks.count - from, FILM_BLOCK_MAX);
		if (stacks_pack(&o->c->columns, id, batch->stacks.at + from, count))
			return SQLITE_NOMEM;
		rc = write_block(o, FILM_ROW_STACKS, id, count);
	}
	return rc;
}

/* By frame, the last call first, then by depth. */
static int by_frame(const void *a, const void *b)
{
	const struct film_named *x = a, *y = b;

	if (x->row.frame != y->row.frame)
		return x->row.frame < y->row.frame ? -1 : 1;
	if (x->call != y->call)
		return x->call > y->call ? -1 : 1;
	return x->row.depth < y->row.depth ? -1 : x->row.depth > y->row.depth;
}

static int write_names(const struct output *o, struct film_batch *batch)
{
	vec(struct film_naming) rows = {0};
	size_t from, count, i;
	uint32_t call = 0;
	int rc = SQLITE_OK;

	if (!batch->names.count)
		return SQLITE_OK;
	if (!vec_reserve(&rows, batch->names.count))
		return SQLITE_NOMEM;
	qsort(batch->names.at, batch->names.count, sizeof(*batch->names.at), by_frame);
	for (i = 0; i < batch->names.count; i++) {
		const struct film_named *named = &batch->names.at[i];

		if (!rows.count || vec_last(&rows)->frame != named->row.frame)
			call = named->call;
		if (named->call == call)
			rows.at[rows.count++] = named->row;
	}
	for (from = 0; rc == SQLITE_OK && from < rows.count; from += count) {
		count = namings_per_block(rows.at + from, rows.count - from);
		if (namings_pack(&o->c->columns, rows.at + from, count)) {
			rc = SQLITE_NOMEM;
			break;
		}
		film_put_row(&o->c->row, FILM_ROW_NAMES, (uint64_t)count, o->c->columns.packed.at,
			     o->c->columns.packed.count);
		rc = write_own_row(o);
	}
	vec_free(&rows);
	return rc;
}

/* By frame, the last call first. */
static int by_started_frame(const void *a, const void *b)
{
	const struct film_started *x = a, *y = b;

	if (x->row.frame != y->row.frame)
		return x->row.frame < y->row.frame ? -1 : 1;
	return x->call > y->call ? -1 : x->call < y->call;
}

static int write_starts(const struct output *o, struct film_batch *batch)
{
	vec(struct film_start) rows = {0};
	size_t from, count;
	int rc = SQLITE_OK;

	if (!batch->starts.count)
		return SQLITE_OK;
	if (!vec_reserve(&rows, batch->starts.count))
		return SQLITE_NOMEM;
	qsort(batch->starts.at, batch->starts.count, sizeof(*batch->starts.at), by_started_frame);
	vec_foreach (&batch->starts, started) {
		if (!rows.count || vec_last(&rows)->frame != started->row.frame)
			rows.at[rows.count++] = started->row;
	}
	for (from = 0; rc == SQLITE_OK && from < rows.count; from += count) {
		count = at_most(rows.count - from, FILM_BLOCK_MAX);
		if (starts_pack(&o->c->columns, rows.at + from, count)) {
			rc = SQLITE_NOMEM;
			break;
		}
		film_put_row(&o->c->row, FILM_ROW_STARTS, (uint64_t)count, o->c->columns.packed.at,
			     o->c->columns.packed.count);
		rc = write_own_row(o);
	}
	vec_free(&rows);
	return rc;
}

static int write_processes(const struct output *o, const struct film_batch *batch)
{
	const struct film_process *processes = batch->processes.at;
	size_t from, count;
	int rc = SQLITE_OK;

	for (from = 1; rc == SQLITE_OK && from < batch->processes.count; from += count) {
		if (processes_pack(&o->c->columns, processes + from, batch->processes.count - from,
				   &count))
			return SQLITE_NOMEM;
		rc = write_block(o, FILM_ROW_PROCESSES, from, count);
	}
	return rc;
}

static int write_threads(const struct output *o, const struct film_batch *batch)
{
	size_t from, count;
	int rc = SQLITE_OK;

	for (from = 1; rc == SQLITE_OK && from < batch->threads.count; from += count) {
		if (threads_pack(&o->c->columns, batch->processes.at, batch->threads.at + from,
				 batch->threads.count - from, &count))
			return SQLITE_NOMEM;
		rc = write_block(o, FILM_ROW_THREADS, from, count);
	}
	return rc;
}

/* Where there are many of them, there are many samples, too, to which they are little. */
static int level_of(const struct film_batch *batch)
{
	if (!batch->is_final)
		return 0;
	return batch->name_bytes <= NAMES_SMALLEST && batch->stacks.count <= STACKS_SMALLEST
		       ? COLUMNS_SMALLEST
		       : COLUMNS_SMALL;
}

int film_catalogue_write(struct film_catalogue *c, struct film_batch *batch,
			 int (*write)(void *context, const struct buf *row), void *context)
{
	const struct output o = {c, write, context};
	int rc;

	c->columns.level = level_of(batch);
	rc = write_functions(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_frames(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_names(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_starts(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_stacks(&o, batch);
	/* command lines repeat so often that a high level finds little more, and takes long */
	c->columns.level = batch->is_final ? COLUMNS_SMALL : 0;
	if (rc == SQLITE_OK)
		rc = write_processes(&o, batch);
	if (rc == SQLITE_OK)
		rc = write_threads(&o, batch);
	return rc;
}

void film_catalogue_free(struct film_catalogue *c)
{
	columns_free(&c->columns);
	buf_free(&c->row);
}

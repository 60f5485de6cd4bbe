// SPDX-License-Identifier: Apache-2.0
#include "film/batch.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct film_row_kind film_row_kinds[FILM_ROW_KINDS] = {
	[FILM_ROW_META_NUMBER] = {"ti", "REPLACE INTO meta VALUES(?, ?)"},
	[FILM_ROW_META_TEXT] = {"tt", "REPLACE INTO meta VALUES(?, ?)"},
	[FILM_ROW_EVENT] = {"ittti", "INSERT INTO event VALUES(?, ?, ?, ?, ?)"},
	[FILM_ROW_PROCESS] = {"iiiiittttt",
			      "REPLACE INTO process VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
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

size_t film_batch_size(const struct film_batch *batch)
{
	size_t size = sizeof(*batch) + batch->rows.room, i;

	size += batch->functions.room * sizeof(*batch->functions.at) + batch->name_bytes;
	size += batch->frames.room * sizeof(*batch->frames.at);
	size += batch->stacks.room * sizeof(*batch->stacks.at);
	size += batch->names.room * sizeof(*batch->names.at);
	size += batch->starts.room * sizeof(*batch->starts.at);
	size += batch->call_count * sizeof(*batch->calls->at);
	size += batch->probes.room * sizeof(*batch->probes.at);
	size += batch->sums.room * sizeof(*batch->sums.at);
	size += batch->processes.room * sizeof(*batch->processes.at);
	size += batch->threads.room * sizeof(*batch->threads.at);
	for (i = 0; i < FILM_EVENTS_MAX; i++)
		size += batch->samples[i].room * sizeof(*batch->samples[i].at);
	return size;
}

void film_batch_free(struct film_batch *batch)
{
	size_t i;

	if (!batch)
		return;
	for (i = 0; i < FILM_EVENTS_MAX; i++)
		vec_free(&batch->samples[i]);
	vec_free(&batch->functions);
	arena_free(&batch->names_of_functions);
	vec_free(&batch->frames);
	vec_free(&batch->stacks);
	vec_free(&batch->names);
	vec_free(&batch->starts);
	while (batch->calls) {
		struct film_call_chunk *older = batch->calls->next;

		free(batch->calls);
		batch->calls = older;
	}
	vec_free(&batch->probes);
	vec_free(&batch->sums);
	vec_free(&batch->processes);
	vec_free(&batch->threads);
	buf_free(&batch->rows);
	free(batch);
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SPANS_DB_H
#define STORE_SPANS_DB_H

#include "base/fail.h"
#include "query/spans.h"

/*
 * Spans of traces, as OpenTelemetry has them, in an SQLite database of their own: DIR/spans.db of a
 * store. Whole traces are read by their id, or what a process did by its time. When there are more
 * than SPANS_MAX, the tenth that came first is dropped. One thread at a time.
 */
struct spans_db;

enum {
	SPANS_MAX = 500000,
	SPANS_PIDS_MAX = 64, /* that are asked for at once */
};

/*
 * Opens a database, which is made if it is not there; is_reader: it must be there, and is only
 * read. -ENOENT, or another negative errno with *why filled; -EBADMSG: it is damaged, or none.
 */
int spans_db_open(const char *path, bool is_reader, struct spans_db **db, struct fail *why);
void spans_db_free(struct spans_db *db); /* null is allowed */

struct spans_added {
	uint64_t kept, again; /* again: those that were there before */
	uint64_t dropped;     /* the oldest, for want of room */
};
/* All of them, or after an error none. */
int spans_db_add(struct spans_db *db, const struct span *spans, size_t count,
		 struct spans_added *added, struct fail *why);

/* Removes those that ended before a time. */
int spans_db_remove(struct spans_db *db, uint64_t before, uint64_t *removed, struct fail *why);

uint64_t spans_db_count(const struct spans_db *db);

/* Which are wanted: those of a trace, or else those that a process had in [from, to). */
struct spans_wanted {
	const uint8_t *trace; /* null: any */
	const char *host;     /* null: any; those without a host match each */
	const uint32_t *pids; /* SPANS_PIDS_MAX at most */
	size_t pid_count;     /* 0: any */
	const char *services; /* a valid list of base/globs.h; null: any */
	uint64_t from, to;    /* ns since 1970 */
	size_t limit;
};

/* To be freed with spans_found_free() in either case. */
int spans_db_find(struct spans_db *db, const struct spans_wanted *wanted, struct spans_found *found,
		  struct fail *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_SCHEMA_H
#define FILM_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * The tables of a film and SQLite's settings. doc/film.md describes every column: change it
 * together with this file and with FILM_SCHEMA_VERSION.
 *
 * Unsigned 64-bit numbers are stored as SQLite's signed integers with the same bits.
 */

/*
 * Small pages, so that a dozen nearly empty tables do not make a short film large, and blocks of a
 * few kB do not leave half a page unused.
 */
#define FILM_PAGE_SIZE 1024

/* Prefix of the keys of labels in the table meta. */
#define FILM_LABEL_ROW "label."

/* Limits of the tables. The writer stays within them; the reader refuses films that exceed them. */
enum {
	FILM_EVENTS_MAX = 256,
	/* of the tables of processes, threads, images, source files, each */
	FILM_ROWS_MAX = 4 << 20,
	FILM_FUNCTIONS_MAX = 2 << 20,
	FILM_FRAMES_MAX = 2 << 20,
	FILM_STACKS_MAX = 4 << 20,
	FILM_DEPTH_MAX = 255, /* inlined calls at one frame */
	FILM_LOSSES_MAX = 4096,
	FILM_TEXT_MAX = 65535, /* bytes of one string */
	FILM_INLINES_MAX = 4 << 20,
	FILM_BLOCK_MAX = 65536,	       /* rows of one block */
	FILM_BLOCK_TEXT_MAX = 1 << 20, /* bytes of text in a block before the row that fills it */
	FILM_NAMES_MAX = 256 << 20,    /* bytes of all functions' names */
	FILM_WORDS_MAX = 1 << 30,      /* bytes of text of packed processes and threads */
};

/* Kinds of blocks, described in kinds.c. A reader skips unknown kinds. */
enum film_block_kind {
	FILM_BLOCK_SAMPLES = 1,
	FILM_BLOCK_CALLS = 2,
	FILM_BLOCK_PROBES = 3, /* costs of probes */
	FILM_BLOCK_SUMS = 4,   /* sums of calls by function */
	/* costs of probes with their accuracy, in addition to FILM_BLOCK_PROBES */
	FILM_BLOCK_COSTS = 5,
	FILM_BLOCK_WAITS = 6, /* intervals in which threads did not run */
	FILM_BLOCK_LOCKS = 7, /* waits for locks, with the holder */
	/* whole lifetimes of threads: stays on CPUs and the time between them */
	FILM_BLOCK_TURNS = 8,
	FILM_BLOCK_REQUESTS = 9, /* requests that programs served and made */
	FILM_BLOCK_HELD = 10,	 /* memory in use at a moment */
	FILM_BLOCK_VALUES = 11,	 /* arguments and results of calls */
	FILM_BLOCK_GAUGES = 12,	 /* gauges of the machine */
	FILM_BLOCK_LOGS = 13,	 /* log lines that threads wrote */
	FILM_BLOCK_WORKS = 14,	 /* what streams of devices ran */
	FILM_BLOCK_KINDS,
};

struct film_table {
	const char *name;
	const char *sql; /* as in sqlite_schema */
	int since;	 /* first schema version that has the table, */
	int until;	 /* and the last one; 0: it has it now */
};
extern const struct film_table film_tables[];
extern const unsigned int film_table_count;

/* The negative errno for db's last error, whose SQLite code is rc. */
int film_sql_errno(sqlite3 *db, int rc);

/* Runs statements and ignores their rows. Returns SQLite's code. */
int film_sql_run(sqlite3 *db, const char *sql);

/*
 * Reads the number in the first column of the first row. Returns SQLite's code; SQLITE_DONE: no
 * row.
 */
int film_sql_number(sqlite3 *db, const char *sql, int64_t *number);

/* Timeout of a connection that waits for another one's lock, in ms. */
#define FILM_PATIENCE_MS 5000

/*
 * Configures db for untrusted files: nothing in the file can run as code (views, triggers). Returns
 * SQLite's code.
 */
int film_sql_distrust(sqlite3 *db);

/*
 * Returns 0 if db is a film of this or an earlier version and has exactly the tables of that
 * version; else a negative errno with *why filled. path is the name for error messages.
 */
int film_check_schema(sqlite3 *db, const char *path, int *version, struct fail *why);

/* Fills *why with db's last error while path was read. Returns a negative errno. */
int film_read_failed(sqlite3 *db, int rc, const char *path, struct fail *why);

/* As fail() with -EBADMSG: the content of path is not a valid film. */
int film_damaged(struct fail *why, const char *path, const char *what);

#endif

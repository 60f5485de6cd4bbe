/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_SCHEMA_H
#define FILM_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * The tables of a film and what SQLite needs to be told. doc/film.md describes every column; what
 * is changed here is changed there, and FILM_SCHEMA_VERSION with it.
 *
 * Numbers of 64 bits without a sign are stored as SQLite's signed ones of the same bits.
 */

/*
 * Small pages: a dozen tables that are nearly empty must not make a short film large, and blocks of
 * a few kB must not leave half a page unused.
 */
#define FILM_PAGE_SIZE 1024

/* Labels are rows of the table meta; their keys follow this. */
#define FILM_LABEL_ROW "label."

/* Limits of the tables, kept by the writer and demanded by the reader. */
enum {
	FILM_EVENTS_MAX = 256,
	FILM_ROWS_MAX = 4 << 20, /* processes, threads, images, source files: each */
	FILM_FUNCTIONS_MAX = 2 << 20,
	FILM_FRAMES_MAX = 2 << 20,
	FILM_STACKS_MAX = 4 << 20,
	FILM_DEPTH_MAX = 255, /* of inlined calls at one frame */
	FILM_LOSSES_MAX = 4096,
	FILM_TEXT_MAX = 65535, /* bytes of one string */
	FILM_INLINES_MAX = 4 << 20,
	FILM_BLOCK_MAX = 65536,	       /* rows of one block */
	FILM_BLOCK_TEXT_MAX = 1 << 20, /* bytes of text in one, before the one that ends it */
	FILM_NAMES_MAX = 256 << 20,    /* bytes of the names of all functions */
	FILM_WORDS_MAX = 1 << 30,      /* bytes of the texts of packed processes and threads */
};

/* Kinds of blocks; what they are is in kinds.c. A reader skips the kinds it does not know. */
enum film_block_kind {
	FILM_BLOCK_SAMPLES = 1,
	FILM_BLOCK_CALLS = 2,
	FILM_BLOCK_PROBES = 3, /* what probes cost */
	FILM_BLOCK_SUMS = 4,   /* of calls by function */
	FILM_BLOCK_COSTS =
		5, /* what probes cost, and how well that is known; beside FILM_BLOCK_PROBES */
	FILM_BLOCK_WAITS = 6,	 /* times in which threads did not run */
	FILM_BLOCK_LOCKS = 7,	 /* those of them that were for a lock, and whose */
	FILM_BLOCK_TURNS = 8,	 /* the lives of threads: stays on CPUs, and the times off them */
	FILM_BLOCK_REQUESTS = 9, /* what programs were asked for, and asked others for */
	FILM_BLOCK_HELD = 10,	 /* memory in use at a moment */
	FILM_BLOCK_VALUES = 11,	 /* what calls were given, and what they have returned */
	FILM_BLOCK_GAUGES = 12,	 /* what the machine did beside */
	FILM_BLOCK_LOGS = 13,	 /* lines that threads wrote to logs */
	FILM_BLOCK_KINDS,
};

struct film_table {
	const char *name;
	const char *sql; /* as it stands in sqlite_schema */
	int since;	 /* the version that it came with */
};
extern const struct film_table film_tables[];
extern const unsigned int film_table_count;

/* The negative errno for what db last failed with, which was rc. */
int film_sql_errno(sqlite3 *db, int rc);

/* Runs statements whose rows do not matter. Returns SQLite's code. */
int film_sql_run(sqlite3 *db, const char *sql);

/* The number in the first column of the first row. Returns SQLite's code; SQLITE_DONE: no row. */
int film_sql_number(sqlite3 *db, const char *sql, int64_t *number);

/* How long a connection waits for the lock of another one, in ms. */
#define FILM_PATIENCE_MS 5000

/*
 * Makes db a connection that takes nothing in the file for an instruction. Returns SQLite's code.
 */
int film_sql_distrust(sqlite3 *db);

/*
 * 0 if db is a film of this version or an earlier one, with just the tables of that; else a
 * negative errno with *why filled; path is for the words.
 */
int film_check_schema(sqlite3 *db, const char *path, int *version, struct fail *why);

/* Fills *why for what db last failed with while path was read. Returns a negative errno. */
int film_read_failed(sqlite3 *db, int rc, const char *path, struct fail *why);

/* As fail() with -EBADMSG: path was read, and is not what a film must be. */
int film_damaged(struct fail *why, const char *path, const char *what);

#endif

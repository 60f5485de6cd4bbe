/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_FLEET_SCHEMA_H
#define STORE_FLEET_SCHEMA_H

#include "film/reader.h"
#include "store/fleet/client.h"

/* The tables, in the order in which rows are inserted: what others name comes first. */
enum fleet_table {
	FLEET_FUNCTIONS,
	FLEET_STACKS,
	FLEET_FN_STACKS,
	FLEET_NAMES,
	FLEET_FILMED,
	FLEET_LOST,
	FLEET_SUMS,
	FLEET_SERIES,
	FLEET_COLLECTORS,
	FLEET_TABLES,
};

enum fleet_replaced {
	FLEET_SAME,   /* all rows of a key are the same */
	FLEET_LATEST, /* that of the latest batch counts */
	FLEET_DAYS,   /* the same; t is their time, and a partition is a day */
};

struct fleet_table_type {
	const char *name, *columns;
	const char *order; /* a row replaces those with the same of these */
	const char *shard; /* a number: the same for rows that replace each other */
	enum fleet_replaced kind;
};
extern const struct fleet_table_type fleet_tables[FLEET_TABLES];

/*
 * Makes the database and its tables where they are not there; those that are there stay as they
 * are. Fails where they are of another version.
 */
int fleet_prepare(struct fleet_client *client, struct fail *why);
/* Drops the database with its tables. */
int fleet_drop(struct fleet_client *client, struct fail *why);

/* A question to the tables. Null: all. */
struct fleet_ask {
	const char *event;
	uint64_t first, end; /* minutes since 1970: [first, end) */
	const char *host, *service, *version;
	const uint64_t *functions; /* of which one must be in the stack; null: all stacks */
	size_t function_count;
};

/* Append one SELECT each, which answers in RowBinary. */
/* fn, name, place, build, found: of all functions; found: its name found later, or "" */
void fleet_sql_names(struct buf *sql);
/* value, fns, marks: by stack, of whole hours */
void fleet_sql_stacks(struct buf *sql, const struct fleet_ask *ask);
/* fn, name, kind, place, image, image_kind, build, found: of all functions of these stacks */
void fleet_sql_functions(struct buf *sql, const struct fleet_ask *ask);
/*
 * host, service, version, labels, begin (s), samples, total, truncated, guessed: by series, and by
 * minute or hour where that is asked for; else begin is 0.
 */
enum fleet_step {
	FLEET_WHOLE,
	FLEET_HOUR,
	FLEET_MINUTE,
};
void fleet_sql_series(struct buf *sql, const struct fleet_ask *ask, enum fleet_step step);
/* begin, end: of what was filmed, by begin */
void fleet_sql_filmed(struct buf *sql, const struct fleet_ask *ask);
/* is_of_event, is_part, count: of what was lost */
void fleet_sql_lost(struct buf *sql, const struct fleet_ask *ask);
/* until: by collector */
void fleet_sql_collectors(struct buf *sql);
/* build: of programs and libraries with places that have no name */
void fleet_sql_unnamed_builds(struct buf *sql);
/* fn, name, build: the places without names of these builds, of which there is one at least */
void fleet_sql_unnamed(struct buf *sql, const struct film_image *builds, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOAD_H
#define FILM_LOAD_H

#include <sqlite3.h>
#include <sys/types.h>

#include "film/arena.h"
#include "film/calls.h"
#include "film/reader.h"
#include "film/samples.h"

/* What a film in memory keeps to itself; reader.c, load.c and walk.c share it. */

/* Where a block is taken apart. All zero is empty. */
struct film_unpacked {
	struct samples_reader samples;
	struct calls_reader calls;
	struct column_reader columns;  /* of other blocks */
	vec(struct film_probe) probes; /* of the block at hand */
	vec(struct film_sum) sums;     /* of the block at hand */
};

struct film_block {
	int64_t id;
	uint32_t event, kind;
	struct film_span span;
};

struct film_private {
	char *path;
	dev_t device; /* to notice that another film is at path now */
	ino_t inode;
	sqlite3 *db; /* null while nothing is read of a film that may be written at the same time */
	struct arena texts;
	const char **files; /* source files by id */
	uint32_t file_count;
	/* those of samples first, sorted by t0, then id; the others by kind, then id */
	struct film_block *blocks;
	size_t block_count;
	struct film_unpacked unpacked[2]; /* while one block is looked at, the next one is read */
};

/*
 * Loads the catalogue and the block rows into film, which has its private part and is else zero, or just a part of it.
 * Returns 0 or a negative errno with *why filled; film_free() is right in both cases.
 */
enum film_part {
	/* each has what those behind it have */
	FILM_PART_ALL,
	FILM_PART_LOSSES,
	FILM_PART_INFO,
};
int film_load(sqlite3 *db, const char *path, enum film_part part, struct film *film,
	      struct fail *why);

/* Opens the film's database again if it was left, and makes it readable. 0, or a negative errno. */
int film_enter(struct film_private *p, struct fail *why);
/* To be called when nothing is read for a while: a film that is being recorded is not held open. */
void film_leave(struct film_private *p);

#endif

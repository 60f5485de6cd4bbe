/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOAD_H
#define FILM_LOAD_H

#include <sqlite3.h>
#include <sys/types.h>

#include "film/arena.h"
#include "film/reader.h"
#include "film/samples.h"

/* What a film in memory keeps to itself; reader.c and load.c share it. */

struct film_block {
	int64_t id;
	uint32_t event;
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
	struct film_block *blocks; /* of samples, sorted by t0, then id */
	size_t block_count;
	struct samples_reader samples;
};

/*
 * Loads the catalogue and the block rows into film, which has its private part and is else zero.
 * Returns 0 or a negative errno with *why filled; film_free() is right in both cases.
 */
int film_load(sqlite3 *db, const char *path, struct film *film, struct fail *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LOAD_H
#define FILM_LOAD_H

#include <sqlite3.h>
#include <sys/types.h>

#include "film/ahead.h"
#include "film/arena.h"
#include "film/reader.h"
#include "film/unpack.h"

/* What a film in memory keeps to itself; reader.c, load.c and walk.c share it. */

struct film_block {
	int64_t id;
	uint32_t event, kind;
	struct film_span span;
};

/* An inlined call, and the number of the block of names that gave it. */
struct film_inline_row {
	struct film_inline call;
	uint32_t block;
};

/* How far a film has been read, to read on from there. All zero: nothing was. */
struct film_reading {
	/* the next row of tables whose rows are not numbered as what is in them */
	size_t next_name, next_start, next_block;
	vec(uint32_t) named_by; /* the block that names it, by frame */
	vec(struct film_inline_row)
		given; /* inlined calls, also those that a later block replaced */
	/*
	 * Bytes of text so far. In a sound file they are all different bytes of the file; rows that
	 * share the same bytes could ask for any amount of memory. The next one: of function names,
	 * which are packed.
	 */
	uint64_t text_bytes, name_bytes;
};

struct film_private {
	char *path;
	dev_t device; /* to notice that another film is at path now */
	ino_t inode;
	sqlite3 *db; /* null while nothing is read of a film that may be written at the same time */
	struct arena texts;
	struct arena replaced; /* texts of rows that are written again as they change */
	const char **files;    /* source files by id */
	uint32_t file_count;
	/* by kind; those that are sorted by t0, then id; the others by id */
	struct film_block *blocks;
	size_t block_count;
	bool is_followed;	     /* film_catch_up() will read on */
	bool is_shared;		     /* db has locks that keep the recorder from closing the film */
	struct film_reading reading; /* of one that is followed */
	/* while one block is looked at, the next ones are read */
	struct film_unpacker unpackers[AHEAD_PLACES];
};

/*
 * Loads the catalogue and the block rows into film, which has its private part and is else zero, or
 * just its catalogue or rows; or what came since, if film is followed and was loaded before.
 * Returns 0 or a negative errno with *why filled; then film_free() is all that can be called.
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

/*
 * Calls emit() with each block of what was given as one kind, as film_each_calls() does: with the
 * its columns or rows. For callers that have them all, and ask kinds.h what they are.
 */
int film_each_block(struct film *film, uint32_t event, enum film_block_kind kind,
		    int (*emit)(void *context, const struct film_unpacked *block), void *context,
		    struct fail *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_CATALOGUE_H
#define FILM_CATALOGUE_H

#include "film/arena.h"
#include "film/column.h"
#include "film/film.h"

/*
 * The layouts of what a film has many of: functions, frames, their names and starts, stacks. Each
 * is packed in blocks of rows whose ids follow each other; as rows of SQLite they would cost four
 * times as much.
 *
 *	functions	image, kind, name
 *	frames		image, kind, address
 *	names		frame (as the distance to the row before), depth, function, file, line
 *	starts		frame (as the distance to the row before), address - start
 *	stacks		parent (as id - parent, 0 for a root), frame, how
 *
 * Packing takes at least one row, at most FILM_BLOCK_MAX, and leaves the block in c->packed.
 * Returns 0 or -ENOMEM. Unpacking checks everything: -EBADMSG when the data is not valid or a row
 * refers to something that is not there.
 */

struct film_place {
	uint64_t address;
	uint32_t image;
	uint8_t kind;
};

/*
 * What is at a frame: at depth 0 the function that the frame's code belongs to, at depth 1 the one
 * that it was inlined into, and so on. A frame's rows follow each other in one block, depth 0
 * first; those of a later block replace them.
 */
struct film_naming {
	uint32_t frame, depth, function, file, line;
};

/* The function of a frame begins distance before the frame's address, by unwind information. */
struct film_start {
	uint64_t distance;
	uint32_t frame;
};

/* As many functions of the count ones as fit into one block (at least one) and their text does. */
size_t functions_per_block(const struct film_function *functions, size_t count);
int functions_pack(struct columns *c, const struct film_function *functions, size_t count);
/* The names are copied to texts. */
int functions_unpack(struct column_reader *r, const void *data, size_t size, uint32_t images,
		     struct arena *texts, struct film_function *functions, size_t count);

int places_pack(struct columns *c, const struct film_place *places, size_t count);
int places_unpack(struct column_reader *r, const void *data, size_t size, uint32_t images,
		  struct film_place *places, size_t count);

/* As many of the count rows as fit into one block: a frame's rows are not parted. */
size_t namings_per_block(const struct film_naming *namings, size_t count);
int namings_pack(struct columns *c, const struct film_naming *namings, size_t count);
int namings_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		   uint32_t functions, uint32_t files, struct film_naming *namings, size_t count);

/* Frames in rising order, each once. That a start is not 0 is for the caller to check. */
int starts_pack(struct columns *c, const struct film_start *starts, size_t count);
int starts_unpack(struct column_reader *r, const void *data, size_t size, uint32_t frames,
		  struct film_start *starts, size_t count);

/* The stacks have the ids first, first + 1 … */
int stacks_pack(struct columns *c, uint32_t first, const struct film_stack *stacks, size_t count);
int stacks_unpack(struct column_reader *r, const void *data, size_t size, uint32_t first,
		  uint32_t frames, struct film_stack *stacks, size_t count);

#endif

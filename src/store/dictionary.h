/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_DICTIONARY_H
#define STORE_DICTIONARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "film/film.h"
#include "film/intern.h"

/*
 * The dictionaries of an index, in memory: images, functions, paths and series, all numbered from 1
 * and never taken back. One thread adds at a time; others read meanwhile without a lock, what was
 * there when they took the counts: entries lie in pieces that are never moved, and strings live as
 * long as the dictionary.
 */
enum {
	DICTIONARY_IMAGES_MAX = 1 << 18,
	DICTIONARY_FUNCTIONS_MAX = 1 << 20,
	DICTIONARY_PATHS_MAX = 1 << 22,
	DICTIONARY_SERIES_MAX = 1 << 17,
	DICTIONARY_TEXT_MAX = 256 << 20, /* bytes of all strings */

	PIECE_BITS = 14,
	PIECE = 1 << PIECE_BITS,

	/* what every index begins with */
	PATH_UNKNOWN = 1, /* of samples without a stack */
	PATH_OTHERS = 2,  /* of samples whose path has no room */
	SERIES_OTHERS = 1,
};

struct dictionary_function {
	uint32_t image; /* 0: none */
	uint8_t kind;	/* enum film_frame_kind */
	bool is_place;	/* it has no name: the image's build tells it apart, too */
	const char *name;
};

/*
 * A path is its parent's frames and one more. How a frame was found belongs to it, so that answers
 * can mark guesses; plain is the path of the same functions that says nothing of that, and always
 * comes before it.
 */
enum {
	PATH_GUESS = 1,	  /* the frame was found by a guess */
	PATH_INLINED = 2, /* it was inlined there */
};
struct dictionary_path {
	uint32_t parent; /* 0: the root */
	uint32_t function;
	uint32_t plain; /* its own number, if it says nothing itself and none above does */
	uint16_t depth;
	uint8_t flags;
	bool is_truncated; /* its outermost frame says that the stack was cut */
};

struct dictionary_series {
	const char *host, *service, *version, *labels; /* the same text has the same address */
	uint32_t group; /* the first series of that service: stands for all of them */
};

struct dictionary_table {
	void **pieces; /* up to the first null; never moved */
	size_t size;   /* of an entry */
	uint32_t max;
	uint32_t count;		   /* of the writer: with what is not yet committed */
	_Atomic uint32_t readable; /* of readers; counts include the unused entry 0 */
};

struct dictionary {
	struct dictionary_table images, functions, paths, series;
	/* of the writer, made when first needed */
	bool can_find;
	struct map by_image, by_function, by_series, by_group;
	struct intern by_path;
	struct map by_text; /* a text's place in texts, plus one */
	vec(const char *) texts;
	size_t text_bytes;
	/* blocks in which strings lie */
	vec(char *) blocks;
	size_t block_used, block_size;
};

int dictionary_init(struct dictionary *d); /* 0 or -ENOMEM */
void dictionary_free(struct dictionary *d);

/*
 * The number of the entry with that content, made if it is not there; 0: no memory, or the table is
 * full.
 */
uint32_t dictionary_image(struct dictionary *d, const struct film_image *image);
uint32_t dictionary_function(struct dictionary *d, const struct dictionary_function *function);
uint32_t dictionary_path(struct dictionary *d, uint32_t parent, uint32_t function, uint8_t flags);
uint32_t dictionary_series(struct dictionary *d, const struct dictionary_series *series);

/*
 * A copy that lives as long as the dictionary; the same address for the same text. Null: no memory.
 */
const char *dictionary_text(struct dictionary *d, const char *text, size_t length);

/* Appends what was stored, as it is; -EBADMSG if it cannot be right. */
int dictionary_load_image(struct dictionary *d, const struct film_image *image);
int dictionary_load_function(struct dictionary *d, const struct dictionary_function *function,
			     const char *name, size_t length);
int dictionary_load_path(struct dictionary *d, const struct dictionary_path *path);
int dictionary_load_series(struct dictionary *d, const struct dictionary_series *series);

struct dictionary_counts {
	uint32_t images, functions, paths, series;
};
struct dictionary_counts dictionary_counts(const struct dictionary *d);

/* Lets readers see all that is there. */
void dictionary_publish(struct dictionary *d);
/* Rolls back what nothing stored refers to. 0 or -ENOMEM: then it cannot be used any more. */
int dictionary_roll_back(struct dictionary *d, const struct dictionary_counts *to);

static inline void *dictionary_at(const struct dictionary_table *t, uint32_t i)
{
	return (char *)t->pieces[i >> PIECE_BITS] + (size_t)(i & (PIECE - 1)) * t->size;
}

static inline struct film_image *dictionary_image_at(const struct dictionary *d, uint32_t i)
{
	return dictionary_at(&d->images, i);
}

static inline struct dictionary_function *dictionary_function_at(const struct dictionary *d,
								 uint32_t i)
{
	return dictionary_at(&d->functions, i);
}

static inline struct dictionary_path *dictionary_path_at(const struct dictionary *d, uint32_t i)
{
	return dictionary_at(&d->paths, i);
}

static inline struct dictionary_series *dictionary_series_at(const struct dictionary *d, uint32_t i)
{
	return dictionary_at(&d->series, i);
}

static inline uint32_t dictionary_readable(const struct dictionary_table *t)
{
	return atomic_load_explicit(&t->readable, memory_order_acquire);
}

#endif

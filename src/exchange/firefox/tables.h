/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_FIREFOX_TABLES_H
#define EXCHANGE_FIREFOX_TABLES_H

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "film/reader.h"

/*
 * The tables of a profile. Strings, libraries and source files are shared by all threads; each
 * thread has its own stacks, frames and functions, and resources for the libraries of these.
 */
struct firefox_shared {
	const struct film *film;
	const struct film_stack *stacks; /* those that are shown */
	vec(char *) strings;		 /* harmless UTF-8 */
	struct map string_of;		 /* by a hash of the text */
	vec(uint32_t) sources;		 /* strings: paths */
	struct map source_of;		 /* by string */
	vec(uint32_t) libs;		 /* images */
	struct map lib_of;		 /* by image */
};

#define FIREFOX_NONE UINT32_MAX /* null */

/*
 * Categories of frames: for each kind its number, the first for what has none; the last for kinds
 * of later versions.
 */
enum {
	FIREFOX_CATEGORY_LATER = FILM_FRAME_DEVICE + 1,
	FIREFOX_CATEGORIES
};

/* The rows of a thread's tables: numbers of rows of other tables, or FIREFOX_NONE. */
struct firefox_stack {
	uint32_t frame, prefix;
};
struct firefox_frame {
	uint32_t function, source, line, depth, category;
};
struct firefox_function {
	uint32_t name, resource, source;
};
struct firefox_resource {
	uint32_t lib, name;
};

struct firefox_tables {
	struct firefox_shared *shared;
	struct map stack_of, frame_of, function_of, resource_of; /* by ids of the film */
	vec(struct firefox_stack) stacks;
	vec(struct firefox_frame) frames;
	vec(struct firefox_function) functions;
	vec(struct firefox_resource) resources;
};

/*
 * The number of a film's stack in a thread. FIREFOX_NONE: there is no memory, or (*is_empty) it has
 * no frames, and no number.
 */
uint32_t firefox_stack(struct firefox_tables *tables, uint32_t stack, bool *is_empty);

/* The members of a thread that are tables. */
void firefox_put_tables(struct json *j, const struct firefox_tables *tables);
/* The members libs and shared of a profile. */
void firefox_put_shared(struct json *j, const struct firefox_shared *shared);

void firefox_tables_free(struct firefox_tables *tables);
void firefox_shared_free(struct firefox_shared *shared);

#endif

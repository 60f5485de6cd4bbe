/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALL_NAMES_H
#define QUERY_CALL_NAMES_H

#include "film/reader.h"
#include "query/names.h"

/* Caches the names of a film's frames. */
struct call_names {
	const struct film *film;
	const char **of_frame; /* null: not requested yet */
	struct name_pool pool;
};

/* Returns 0 or -ENOMEM. */
int call_names_init(struct call_names *names, const struct film *film);
void call_names_free(struct call_names *names);

/* The frame's name as in the film, so escape it. It is valid as long as names. Null: no memory. */
const char *call_names_of(struct call_names *names, uint32_t frame);

#endif

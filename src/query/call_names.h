/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CALL_NAMES_H
#define QUERY_CALL_NAMES_H

#include "film/reader.h"
#include "query/names.h"

/* The names of a film's frames, each made once. */
struct call_names {
	const struct film *film;
	const char **of_frame; /* null: not yet asked for */
	struct name_pool pool;
};

/* Returns 0 or -ENOMEM. */
int call_names_init(struct call_names *names, const struct film *film);
void call_names_free(struct call_names *names);

/* As the film has it, so not harmless; lives as long as names. Null: no memory. */
const char *call_names_of(struct call_names *names, uint32_t frame);

#endif

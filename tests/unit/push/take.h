/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PUSH_TAKE_H
#define TESTS_UNIT_PUSH_TAKE_H

#include "film/reader.h"
#include "server/push.h"

/*
 * What a push route sees of its server: a request that is made up, and a store that opens the films
 * which it is given, for the test to look at.
 */
struct pushed {
	struct film *films[16];
	char hosts[16][64];
	size_t count;
	int err; /* what sender_add_film() answers */
};

struct query {
	const char *name, *value;
};

/*
 * query: ended by a null name; type: of the content, or null. Films that were taken before are
 * freed.
 */
int push_to(route_function *route, const struct query *query, const char *type, const void *body,
	    size_t size, struct pushed *pushed, struct fail *why);
void pushed_free(struct pushed *pushed);

/* All of a stored body; ends the test where there is none. */
uint8_t *vector_read(const char *name, size_t *size);

/* Count and sum of all samples of an event of a film; 0 where it has none. */
uint64_t event_total(struct film *film, const char *event, uint64_t *samples);

/*
 * The functions of all stacks that end with this one, root first with ';' between, and their sum;
 * "" and 0: none.
 */
uint64_t stack_total(struct film *film, const char *event, const char *stack);

#endif

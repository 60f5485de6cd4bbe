/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_WAITING_ANSWERS_H
#define PROTOCOL_WAITING_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

/* What is known of the requests of a connection that have no answer yet, in their order. */
#define WAITING_ANSWERS_MAX 256

struct waiting_answers {
	uint8_t flags[WAITING_ANSWERS_MAX]; /* the protocol's own */
	uint32_t first, count;
};

/* Adds one; if there are too many, the oldest is forgotten. */
void waiting_answers_add(struct waiting_answers *waiting, uint8_t flags);

/* Pops the oldest; 0: there is none. */
uint8_t waiting_answers_pop(struct waiting_answers *waiting);

/* Looks at it. */
static inline uint8_t waiting_answers_first(const struct waiting_answers *waiting)
{
	return waiting->count ? waiting->flags[waiting->first] : 0;
}

#endif

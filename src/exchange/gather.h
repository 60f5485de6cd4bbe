/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_GATHER_H
#define EXCHANGE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/vec.h"
#include "film/reader.h"

/*
 * A film as others want it: not sample by sample, but summed up by service, event, thread and
 * stack. Films of a few seconds are meant: the whole film is in memory.
 */

enum {
	SERVICE_MAX = 255
};

/*
 * Writes the name of a process's service, at least one character. The rules for it are the store's.
 */
typedef void service_function(void *context, const struct film_process *process, char *to,
			      size_t size);

struct gathered_sum {
	uint32_t group, event, thread, stack;
	uint64_t samples, value;
};

/* Processes that belong together: of one service, and of one container if that is wanted. */
struct gathered_group {
	char service[SERVICE_MAX + 1];
	const char *container; /* of the film */
};

/* What one profile is made of: the sums of an event of a group. */
enum {
	GATHERED_NO_GROUP = UINT32_MAX
};
struct gathered_part {
	uint32_t group, event; /* GATHERED_NO_GROUP: of the host, without sums */
	size_t first, count;   /* of sums */
};

struct gathered {
	struct film *film;
	vec(struct gathered_group) groups;
	vec(struct gathered_sum) sums; /* sorted by group, event, thread, stack */
	vec(struct gathered_part) parts;
	uint64_t from, to; /* ns since 1970 */
};

/* Returns 0, or a negative errno with *why filled; gathered_free() is needed in either case. */
int gather(const char *path, bool by_container, service_function *service_of, void *context,
	   struct gathered *gathered, struct fail *why);
void gathered_free(struct gathered *gathered);

/* What an event is called elsewhere: "cpu" is what others call on-cpu. */
const char *gathered_event(const struct gathered *gathered, uint32_t event);

/* How much one sample stands for, in the event's unit; 0: that means nothing for it. */
uint64_t gathered_period(const struct gathered *gathered, uint32_t event);

/* Of the film's losses, those of an event: samples. */
uint64_t gathered_lost(const struct gathered *gathered, uint32_t event);

/* Whether nothing of the event came through, and losses are to be told: no part will tell them. */
bool gathered_is_silent(const struct gathered *gathered, uint32_t event);

#endif

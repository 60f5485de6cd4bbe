/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_KEPT_LATELY_H
#define HOST_KEPT_LATELY_H

#include <stdint.h>

#include "base/vec.h"
#include "sources/happening.h"

/*
 * How often the flight recorder keeps films by itself: a number in an hour, and after one for a
 * kind of happening none for the same kind for a while. The first of each kind in an hour is always
 * kept: requests that fail by the hundred must not cost the film of a crash.
 */
struct kept_lately {
	unsigned int hour; /* films in an hour; 0: any number */
	vec(struct kept_because {
		uint64_t time;
		enum happening_kind kind;
	}) films; /* of the last hour, in their order */
};

/*
 * Null: a film may be kept because of a thing of this kind, and counts from now on. Else why not,
 * in words. Times are ns of the monotonic clock. cool: how long others of the kind keep nothing.
 */
const char *kept_lately_refuses(struct kept_lately *lately, enum happening_kind kind, uint64_t time,
				uint64_t cool);
void kept_lately_free(struct kept_lately *lately);

#endif

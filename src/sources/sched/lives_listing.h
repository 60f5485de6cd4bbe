/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SCHED_LIVES_LISTING_H
#define SOURCES_SCHED_LIVES_LISTING_H

#include "base/vec.h"
#include "sources/sched/lives.h"

/* A list of tasks, at the place where it belongs in the order of time. All zero: none. */
struct lives_listing {
	vec(struct lives_listed) all;
	size_t next;	/* the first one that was not given yet */
	uint64_t begun; /* when the list was; 0: none is to be done */
};

/* Emits what was listed up to a time, and at the list's end says so. */
void lives_listing_emit(struct lives_listing *listing, struct lives *lives, uint64_t until);

/* The list was read behind the moment up to which all counts: what it says of that moment. */
void lives_listing_emit_late(struct lives_listing *listing, struct lives *lives);

#endif

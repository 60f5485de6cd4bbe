/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_MEMORY_RSS_TURNS_H
#define SOURCES_MEMORY_RSS_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "sources/memory/rss_parts.h"

/* A row of the film: a part, as its stack. */
struct rss_row {
	uint32_t stack;
	uint64_t bytes;
};

/* What is known of a process whose memory is counted and read. Times are ns. */
struct rss_turn {
	pid_t pid;
	uint64_t count_due, read_due; /* when its next turn begins */
	uint64_t bytes;		      /* in RAM, when it was last read or counted */
	bool was_counted, was_read, is_there;
	bool is_fresh; /* counted in this round, and not read since */
	struct rss_counts counts;

	/* in the film */
	bool is_of_before;	  /* only a film of before has its rows so far */
	uint32_t thread;	  /* that its rows stand with; 0: it has none yet */
	uint64_t told;		  /* bytes of its last state */
	vec(struct rss_row) rows; /* of the last reading */
	uint64_t rows_bytes;
};

struct rss_turns {
	vec(struct rss_turn) all;
	struct map places;	      /* of a pid, in all */
	vec(struct rss_turn *) order; /* what was asked for last; into all */
};

/* A round begins: which processes are there is said anew. */
void rss_turns_begin(struct rss_turns *turns);

/*
 * The process is there. One that is new is due. False: it is left out, as there are more than
 * 65,536, or as memory ran out.
 */
bool rss_turns_see(struct rss_turns *turns, pid_t pid, uint64_t now);

/*
 * Those that were there in the round before, and are not now, are given to gone(), and forgotten.
 */
void rss_turns_forget_gone(struct rss_turns *turns,
			   void (*gone)(void *context, const struct rss_turn *turn), void *context);

/* Fills order with those that are due to be counted, the one that waits longest first. */
void rss_turns_to_count(struct rss_turns *turns, uint64_t now);

/*
 * Fills order with those that are due to be read: by what they have in RAM, times how long they
 * have waited. So a large one is not kept from its turn by many small ones that are new, and a
 * small one has its turn at last.
 */
void rss_turns_to_read(struct rss_turns *turns, uint64_t now);

/* Another film begins, which has nothing of any process yet: all are due. */
void rss_turns_turn(struct rss_turns *turns, uint64_t now);
void rss_turns_free(struct rss_turns *turns);

#endif

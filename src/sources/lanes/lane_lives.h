/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_LANE_LIVES_H
#define SOURCES_LANES_LANE_LIVES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/lanes/lanes_abi.h"
#include "film/film.h"

/*
 * The lives of what has lanes: goroutines, tasks of asyncio, virtual threads. They are made of the
 * turns that the kernel's side tells of: turns of the film, which follow each other without a gap.
 * What is not known, as a record was lost, is in them as such. One is known by its process and its
 * number, which is never used again.
 */
struct lane_lives;

/* What lives ask for. */
struct lane_lives_to {
	/*
	 * The film's row for one that was made at start; 0: it has no room. name: as its turn has
	 * it; null: it has none.
	 */
	uint32_t (*row)(void *context, pid_t pid, uint64_t number, uint64_t start,
			const char *name);
	/* The film's row for a thread; 0: not known. */
	uint32_t (*thread)(void *context, pid_t pid, pid_t tid);
	void (*turn)(void *context, const struct film_turn *turn);
	void *context;
	/* one that none of them made ready was made so by the thread that the record names */
	bool by_threads;
};

/* What is known of a turn besides. */
struct lane_also {
	unsigned int reason; /* enum film_go_reason: what it waits for */
	uint32_t stack;	     /* of the film, of that wait; 0: not known */
	const char *name;    /* as its process has it; null: not known */
};

/* The most whose lives are followed at a time. */
#define LANE_LIVES_MAX (1u << 18)

/* Null: no memory. */
struct lane_lives *lane_lives_new(const struct lane_lives_to *to);
void lane_lives_free(struct lane_lives *lives); /* null is allowed */

/* Nothing is known of what was before: lives of what has lived before begin there. */
void lane_lives_begin(struct lane_lives *lives, uint64_t time);

/* A turn that is over: it runs again, or ends, at in. */
void lane_lives_add(struct lane_lives *lives, pid_t pid, const struct lane_turn *turn, uint64_t in,
		    const struct lane_also *also);

/*
 * A turn that goes on, as the kernel's side has it at a time: reported up to there; or is_unseen:
 * as the process has it, since nothing has happened to it since there are probes. What is of a turn
 * before it is in a ring still, and then nothing is reported; unless the process has ended.
 */
void lane_lives_cut(struct lane_lives *lives, pid_t pid, const struct lane_turn *goes_on,
		    const struct lane_also *also, uint64_t time, bool is_unseen, bool has_ended);

/* How long to wait until what goes on is reported the next time, as that took so long; ns. */
uint64_t lane_lives_pause(uint64_t took);

/* Nothing happens any more: those that nothing has ever happened to go on up to a time. */
void lane_lives_finish(struct lane_lives *lives, uint64_t time);

/* The process has ended, and all of its lives that have not. */
void lane_lives_ended(struct lane_lives *lives, pid_t pid, uint64_t time);

/* Another film, in which nothing has a row. */
void lane_lives_turn(struct lane_lives *lives);

struct lane_lives_counts {
	uint64_t refused; /* too many, or no memory */
	uint64_t holes;	  /* times of which nothing is known */
};
struct lane_lives_counts lane_lives_counts(const struct lane_lives *lives);

#endif

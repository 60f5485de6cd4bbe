/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_LANES_GO_LANES_H
#define CAMERA_LANES_GO_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/goroutines_abi.h"
#include "film/film.h"

/*
 * The lives of goroutines, and of tasks of asyncio, which are as those are. They are made of the
 * turns that the kernel's side tells of: turns of the film, which follow each other without a gap.
 * What is not known, as a record was lost, is in them as such. A goroutine is known by its process
 * and its number, which is never used again.
 */
struct go_lanes;

/* What lanes ask for. */
struct go_lanes_to {
	/* The film's row for a goroutine that was made at start; 0: it has no room. */
	uint32_t (*goroutine)(void *context, pid_t pid, uint64_t goid, uint64_t start);
	/* The film's row for a thread; 0: not known. */
	uint32_t (*thread)(void *context, pid_t pid, pid_t tid);
	void (*turn)(void *context, const struct film_turn *turn);
	void *context;
	/* one that none of them made ready was made so by the thread that the record names */
	bool by_threads;
};

/* The most goroutines whose lives are followed at a time. */
#define GO_LANES_MAX (1u << 18)

/* Null: no memory. */
struct go_lanes *go_lanes_new(const struct go_lanes_to *to);
void go_lanes_free(struct go_lanes *lanes); /* null is allowed */

/* Nothing is known of what was before: lives of what has lived before begin there. */
void go_lanes_begin(struct go_lanes *lanes, uint64_t time);

/*
 * A turn that is over: its times are those of the record. reason: enum film_go_reason; stack: of
 * the film, of its wait.
 */
void go_lanes_take(struct go_lanes *lanes, pid_t pid, const struct goroutines_wait *wait,
		   unsigned int reason, uint32_t stack);

/*
 * The turn of a goroutine that goes on, as the kernel's side has it at a time: reported up to
 * there; or is_unseen: as the process has it, since nothing has happened to it since there are
 * probes. What is of a turn before it is in a ring still, and then nothing is reported; unless the
 * process has ended.
 */
void go_lanes_cut(struct go_lanes *lanes, pid_t pid, uint64_t goid,
		  const struct goroutines_state *state, unsigned int reason, uint32_t stack,
		  uint64_t time, bool is_unseen, bool has_ended);

/* How long to wait until what goes on is reported the next time, as that took so long; ns. */
uint64_t go_lanes_pause(uint64_t took);

/* Nothing happens any more: those that nothing has ever happened to go on up to a time. */
void go_lanes_finish(struct go_lanes *lanes, uint64_t time);

/* The process has ended, and all of its goroutines that have not. */
void go_lanes_ended(struct go_lanes *lanes, pid_t pid, uint64_t time);

/* Another film, in which nothing has a row. */
void go_lanes_turn(struct go_lanes *lanes);

struct go_lanes_counts {
	uint64_t refused; /* goroutines: too many, or no memory */
	uint64_t holes;	  /* times of which nothing is known */
};
struct go_lanes_counts go_lanes_counts(const struct go_lanes *lanes);

#endif

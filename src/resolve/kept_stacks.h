/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_KEPT_STACKS_H
#define RESOLVE_KEPT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "bpf/capture/abi.h"
#include "resolve/samples.h"
#include "resolve/stack_rows.h"

/*
 * Stacks and threads that are needed in films after the one in which they were seen: where a graph
 * was captured, say, which is launched for days. A place (struct samples_place) is of one film, so
 * a stack is kept in words, by which it is resolved again in the next film when that needs it.
 *
 *	kept_stacks_add()	right after samples_resolve()
 *	kept_stacks_next_film()	another film begins; then, of all that is still needed,
 *	kept_stacks_move()	for places, and
 *	kept_stacks_use()	for numbers; and in the end
 *	kept_stacks_film_begun()	forgets the others
 *
 * If other code is at a stack's addresses by then, the stack is not known any more. The table is
 * bounded. All zero: empty.
 */
struct kept_stacks {
	struct map by_number; /* -> struct kept_stack * */
	/* process and stack of this film, and of the one before -> number */
	struct map by_place, before;
	struct map threads, threads_before; /* row of a thread -> struct capture_identity * */
	uint32_t last;			    /* number */
	uint64_t bytes;
};

/* The most stacks, their bytes, and threads. */
#define KEPT_STACKS_MAX	 (1u << 15)
#define KEPT_BYTES_MAX	 (64u << 20)
#define KEPT_THREADS_MAX (1u << 16)

/*
 * Keeps what samples_resolve() has resolved last, and its thread. Returns its number, the same for
 * the same stack of a process; 0: there is no room.
 */
uint32_t kept_stacks_add(struct kept_stacks *kept, const struct samples *samples,
			 const struct capture_record *record, const struct samples_place *place);

/* Its frames in the present film; null: not known. Valid until the next turn. */
const struct stack_frames *kept_stacks_frames(struct kept_stacks *kept, struct samples *samples,
					      uint32_t number);

void kept_stacks_next_film(struct kept_stacks *kept);

/* A place of the film before becomes one of the present film; all zero: not known. */
void kept_stacks_move(struct kept_stacks *kept, struct samples *samples, uint32_t pid,
		      struct samples_place *place);
void kept_stacks_use(struct kept_stacks *kept, uint32_t number);
void kept_stacks_film_begun(struct kept_stacks *kept);

/* The process is gone. */
void kept_stacks_forget(struct kept_stacks *kept, uint32_t pid);

void kept_stacks_free(struct kept_stacks *kept);

#endif

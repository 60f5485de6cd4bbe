/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_LOOPS_H
#define SOURCES_REQUESTS_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/requests/abi.h"

/*
 * For which request an event loop makes another one, where its thread serves many at once. No
 * single event shows it, but two together do:
 *
 *	there	the thread has received something of a request, and next, with nothing in between,
 *		it made the other one (or opened its connection)
 *	back	it has received something of the other one's answer, and next it sent something of
 *		the answer to the request
 *
 * What lies "next" has the same struct requests_turn: the thread received nothing else (but the
 * end of what it received last), and did not wait. If both name the same request, it is the one. A
 * timer, or a queue of a pool, can make one of them name another request; then it is not known, and
 * so it is where one of them is missing. An answer may also lead to another request that is made
 * for the same one: then the last answer of such a chain must lead back, and shows it for all of
 * the chain.
 *
 * By chance both can name the same wrong one, if timers come often. So a thread is believed only
 * while the order tells of most of its requests; in a loop that puts its work off it rarely does.
 * And it is believed only where each connection stays with one thread: a scheduler in the program,
 * that moves its tasks from thread to thread, has an order of its own.
 *
 * Numbers are those of requests; 0: none, or more than one. A thread is its process's number, and
 * its own in the lower 32 bits.
 */
struct requests_loops;

/*
 * A request that was made, and was kept, is for that one (0: for which is not known); kept is the
 * caller's again.
 */
typedef void requests_loops_release(void *context, void *kept, uint64_t parent);

struct requests_loops *requests_loops_new(requests_loops_release *release, void *context);
void requests_loops_free(struct requests_loops *loops);

/* Data of a request that is served was received, at the end of which the thread stood so. */
void requests_loops_asked(struct requests_loops *loops, uint64_t thread,
			  const struct requests_turn *turn, uint64_t served);
/* Data of an answer to a request that was made, the same. */
void requests_loops_got(struct requests_loops *loops, uint64_t thread,
			const struct requests_turn *turn, uint64_t made);
/* The thread begins to connect. */
void requests_loops_opened(struct requests_loops *loops, uint64_t thread,
			   const struct requests_turn *turn, uint64_t connection);
/* It is closed, or has got its first request. */
void requests_loops_used(struct requests_loops *loops, uint64_t connection);

/* In that process, one thread has received and another one has sent on the same connection. */
void requests_loops_roams(struct requests_loops *loops, uint32_t pid);

/*
 * The thread makes a request, on that connection. known: the request that it is for, if that is
 * sure already; 0: it is not. Returns whether it may yet turn out which one.
 */
bool requests_loops_made(struct requests_loops *loops, uint64_t thread,
			 const struct requests_turn *turn, uint64_t connection, uint64_t made,
			 uint64_t known);
/* A part of the answer to a request that is served was sent. */
void requests_loops_answered(struct requests_loops *loops, uint64_t thread,
			     const struct requests_turn *turn, uint64_t served);

/*
 * One that was made, and may yet turn out, is over: returns whether kept is kept until it is known
 * what it was for, and then given to release(), maybe at once. False: it is not known here.
 */
bool requests_loops_over(struct requests_loops *loops, uint64_t made, void *kept);
/* One that was served is over: releases what was kept for it. */
void requests_loops_served(struct requests_loops *loops, uint64_t served);
/* Releases all that could be released, however few requests a thread has had so far. */
void requests_loops_tick(struct requests_loops *loops);
/* Releases all that is kept: their film ends. */
void requests_loops_flush(struct requests_loops *loops);

#endif

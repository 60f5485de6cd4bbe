/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_STARTS_H
#define SOURCES_REQUESTS_STARTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which goroutine has started which other one, as far as the kernel's side has told
 * (bpf/requests/go.h), and which of them work for the request that their starter served.
 *
 * A goroutine that a handler has started may well serve all: a queue's worker, say, which the first
 * request needed. So what it makes is kept until the request is over, and a while longer: if it
 * makes anything else by then, it was none of that request's.
 *
 * Goroutines are numbers, of which no two are the same in all processes. Bounded: those that were
 * not asked for while many others came are forgotten.
 */
struct requests_starts;

struct requests_start {
	uint64_t goroutine, starter;
	uint64_t number; /* the starter's, as its program has it */
	uint64_t since;	 /* ns, when it was started */
	bool handles;	 /* it handles a request of its own, and does not work for its starter's */
	uint64_t served; /* the request that it works for, as far as it seems; 0: none so far */
	bool lasts;	 /* it has made others as well */
};

/* Goroutines each of which was started by the next one. */
#define REQUESTS_LINE_MAX 4
struct requests_line {
	uint64_t goroutines[REQUESTS_LINE_MAX];
	uint32_t count;
};

/* What was kept is the caller's again; is_right: it was made for the request that it seemed to. */
typedef void requests_starts_release(void *context, void *kept, bool is_right);

struct requests_starts *requests_starts_new(requests_starts_release *release, void *context);
void requests_starts_free(struct requests_starts *starts); /* null is allowed */

/* What is known of a goroutine from now on, if there is memory. */
void requests_starts_add(struct requests_starts *starts, const struct requests_start *start);

/* Null: it is not known. The pointer lives until the next call. */
const struct requests_start *requests_starts_find(struct requests_starts *starts,
						  uint64_t goroutine);

/*
 * The first one of a line makes a request, while the starter of the last one serves that one, or
 * none (0). Returns whether it may be for that.
 */
bool requests_starts_made(struct requests_starts *starts, const struct requests_line *line,
			  uint64_t served);

/*
 * One that was made so is over: returns whether kept is kept, and given to release() once it is
 * known. False: there is no memory.
 */
bool requests_starts_keep(struct requests_starts *starts, const struct requests_line *line,
			  uint64_t served, void *kept);

/* Whether any is kept. */
bool requests_starts_has_kept(const struct requests_starts *starts);

/* About once a second. is_served: whether a request is not over. */
void requests_starts_tick(struct requests_starts *starts,
			  bool (*is_served)(void *context, uint64_t number), void *context);

/* Releases all that is kept: their film ends. */
void requests_starts_flush(struct requests_starts *starts);

#endif

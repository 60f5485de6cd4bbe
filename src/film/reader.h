/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_READER_H
#define FILM_READER_H

#include "base/fail.h"
#include "film/film.h"

/*
 * Reads a film. A film is input like any other: it may be truncated, made by another version, made
 * by an attacker. Everything is checked when it is loaded: ids are in range, a stack's parent comes
 * before it, blocks hold what their rows say. What remains can be used without further checks.
 *
 * The catalogue is in memory: tables are arrays whose index is the id; index 0 is unused (zeroed, its
 * strings ""), so count is the highest id plus one.
 *
 * One film is used by one thread at a time. A film that is being recorded is read as it was when it
 * was opened; it may go on being recorded meanwhile.
 */
struct film {
	struct film_info info;
	struct film_event *events;
	struct film_process *processes;
	struct film_thread *threads;
	struct film_image *images;
	struct film_function *functions;
	struct film_frame *frames;
	struct film_stack *stacks;
	uint32_t event_count, process_count, thread_count, image_count, function_count;
	uint32_t frame_count, stack_count;

	struct film_inline *inlines; /* sorted by frame, then depth */
	size_t inline_count;
	struct film_loss *losses;
	size_t loss_count;

	struct film_private *private;
};

int film_open(const char *path, struct film **film, struct fail *why);
void film_free(struct film *film); /* null is allowed */

/* The id of the event of that name, or 0. */
uint32_t film_find_event(const struct film *film, const char *name);

/* The inlined calls of a frame: *count entries in order of depth; null if there are none. */
const struct film_inline *film_inlines_of(const struct film *film, uint32_t frame, size_t *count);

/*
 * Calls take() with each block of samples of one event, in order of time; blocks that lie outside
 * [from, to) are not even decompressed, and blocks that reach over it are cut to it. A value of
 * take() other than 0 ends the walk and is returned. Returns 0 or a negative errno with *why filled.
 */
int film_each_samples(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		      int (*take)(void *context, const struct film_samples *samples), void *context,
		      struct fail *why);

/* Count and total of all samples of an event, from the block rows alone. */
void film_event_total(struct film *film, uint32_t event, uint64_t *samples, uint64_t *total);

#endif

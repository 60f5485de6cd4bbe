/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_READER_H
#define FILM_READER_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/film.h"
#include "film/logs.h"
#include "film/gauges.h"

/*
 * Reads a film. A film is input like any other: it may be truncated, made by another version, made
 * by an attacker. Everything is checked when it is loaded: ids are in range, a stack's parent comes
 * before it, blocks hold what their rows say. What remains can be used without further checks.
 *
 * The catalogue is in memory: tables are arrays whose index is the id; index 0 is unused (zeroed,
 * its strings ""), so count is the highest id plus one.
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

	/*
	 * Samples until then have frames with the names that they will have (film_names_settled());
	 * UINT64_MAX: all.
	 */
	uint64_t settled;

	bool is_open;	 /* its recorder has not closed it: it goes on, or was ended by force */
	bool is_cut_off; /* film_look_at_end(): it was */

	struct film_private *private;
};

int film_open(const char *path, struct film **film, struct fail *why);
/* Finds out whether the recorder of a film that is open is gone. */
void film_look_at_end(struct film *film);
/*
 * Ends the side files that a recorder left beside a film that it closed, as readers were in its
 * way. 0 or a negative errno: -EBUSY while readers are.
 */
int film_make_single(const char *path);
/* Loads nothing but info, which takes a part of the time: all else is as in an empty film. */
int film_open_info(const char *path, struct film **film, struct fail *why);
/* The same with events and losses. */
int film_open_losses(const char *path, struct film **film, struct fail *why);
/*
 * As film_open(), for a film that is being recorded: film_catch_up() makes it what film_open()
 * would give by then, and reads only what came since. Where that fails, as another film is at its
 * place, say (-ESTALE), nothing is left to be done with it but film_free(). Nothing that the film
 * had before stays where it was.
 */
int film_follow(const char *path, struct film **film, struct fail *why);
int film_catch_up(struct film *film, struct fail *why);
void film_free(struct film *film); /* null is allowed */

/* The id of the event of that name, or 0. */
uint32_t film_find_event(const struct film *film, const char *name);

/* The inlined calls of a frame: *count entries in order of depth; null if there are none. */
const struct film_inline *film_inlines_of(const struct film *film, uint32_t frame, size_t *count);

/*
 * Calls take() with each block of samples of one event, in order of time; blocks that lie outside
 * [from, to) are not even decompressed, and blocks that reach over it are cut to it. A value of
 * take() other than 0 ends the walk and is returned. Returns 0 or a negative errno with *why
 * filled.
 *
 * Waits are samples, too: their time is their end, their value what they took.
 *
 * While take() has a block, the next one is read in a thread of the reader's own: so take(), here
 * and below, must not walk through the same film itself.
 */
int film_each_samples(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		      int (*take)(void *context, const struct film_samples *samples), void *context,
		      struct fail *why);

/*
 * The same for the samples of a film that grows: those in the blocks that came after that many
 * blocks, up to the one with the number to. film_block_count() is how many there are;
 * film_settled_count() counts those before the first one whose frames may still get names.
 */
int film_each_new_samples(struct film *film, uint32_t event, uint64_t after, uint64_t to,
			  int (*take)(void *context, const struct film_samples *samples),
			  void *context, struct fail *why);
uint64_t film_block_count(const struct film *film);
uint64_t film_settled_count(const struct film *film);
/* The time until which those before film_settled_count() have all samples that were committed. */
uint64_t film_settled_until(const struct film *film);
/* The time whose samples of an event the first blocks have, up to that number. */
uint64_t film_event_until(const struct film *film, uint32_t event, uint64_t blocks);

/*
 * The same for calls: those that end in [from, to), blocks in the order of writing: the calls of
 * one thread are in order over all blocks. backwards: the last block first; the calls within a
 * block stand in order of their end either way. What take() is given lives until it returns.
 */
int film_each_calls(struct film *film, uint32_t event, uint64_t from, uint64_t to, bool backwards,
		    int (*take)(void *context, const struct film_calls *calls), void *context,
		    struct fail *why);

/*
 * The same for waits: those that end in [from, to), with all that is known of them, in order of
 * their end.
 */
int film_each_waits(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*take)(void *context, const struct film_waits *waits), void *context,
		    struct fail *why);

/* The same for waits for locks. */
int film_each_locks(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*take)(void *context, const struct film_locks *locks), void *context,
		    struct fail *why);

/* The same for turns. */
int film_each_turns(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*take)(void *context, const struct film_turns *turns), void *context,
		    struct fail *why);

enum {
	FILM_AT_ONCE_MAX = 8
};

/*
 * The same for several at once, 1 to FILM_AT_ONCE_MAX: each has a context, and take() is called for
 * it with all turns, in their order, by a thread of its own. A value of take() other than 0 ends
 * all of them.
 */
int film_each_turns_at_once(struct film *film, uint32_t event, uint64_t from, uint64_t to,
			    int (*take)(void *context, const struct film_turns *turns),
			    void *const *contexts, unsigned int count, struct fail *why);

/* The same for requests: those that end in [from, to), in order of their end. */
int film_each_requests(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		       int (*take)(void *context, const struct film_requests *requests),
		       void *context, struct fail *why);

/* The same for values of calls: those of calls that end in [from, to). */
int film_each_values(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     int (*take)(void *context, const struct film_values *values), void *context,
		     struct fail *why);

/* The same for values of the machine: those of times that end in [from, to). */
int film_each_gauges(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     int (*take)(void *context, const struct film_gauges *gauges), void *context,
		     struct fail *why);

/* The same for parts of lines of logs; those of one line may be in any order. */
int film_each_logs(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		   int (*take)(void *context, const struct film_logs *logs), void *context,
		   struct fail *why);

/* The end of the last turn of an event, from the block rows alone; 0: there is none. */
uint64_t film_turns_end(const struct film *film, uint32_t event);

/*
 * Whether the film has waits of an event, waits for locks, turns, requests, values of the machine,
 * and lines of logs.
 */
bool film_has_waits(const struct film *film, uint32_t event);
bool film_has_locks(const struct film *film, uint32_t event);
bool film_has_turns(const struct film *film, uint32_t event);
bool film_has_requests(const struct film *film, uint32_t event);
bool film_has_gauges(const struct film *film, uint32_t event);
bool film_has_logs(const struct film *film, uint32_t event);

/* Whether it has anything at all of an event. */
bool film_has_any(const struct film *film, uint32_t event);

/* Whether it has values of the calls of an event. */
bool film_has_values(const struct film *film, uint32_t event);

/* Whether it has memory in use, whose rows say when it was allocated. */
bool film_has_held(const struct film *film, uint32_t event);

/* How many calls, or turns, of an event the film holds, from the block rows alone. */
uint64_t film_call_count(struct film *film, uint32_t event);
uint64_t film_turn_count(struct film *film, uint32_t event);

/*
 * How many sums of functions the film has of an event; 0: its calls, if any, were kept one by one.
 */
uint64_t film_sum_count(struct film *film, uint32_t event);

/*
 * Calls take() with what is known of the probes' cost, and with sums; in the order of writing. Sums
 * are not cut: all that cover a part of [from, to) are given.
 */
int film_each_probe(struct film *film, uint32_t event,
		    int (*take)(void *context, const struct film_probe *probe), void *context,
		    struct fail *why);
int film_each_sum(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		  int (*take)(void *context, const struct film_sum *sum), void *context,
		  struct fail *why);

/* Count and total of all samples of an event, from the block rows alone. */
void film_event_total(struct film *film, uint32_t event, uint64_t *samples, uint64_t *total);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_READER_H
#define FILM_READER_H

#include <stdbool.h>

#include "base/fail.h"
#include "film/film.h"
#include "film/logs.h"
#include "film/gauges.h"
#include "film/works.h"

/*
 * Reads a film. A film is untrusted input: it may be truncated, come from another version, or be
 * made by an attacker. Loading checks everything: ids are in range, a stack's parent precedes it,
 * blocks have as many rows as the table of blocks says. Callers need no further checks.
 *
 * The catalogue is in memory. Its tables are arrays indexed by id; index 0 is unused (zeroed, its
 * strings are ""), so each count is the highest id plus one.
 *
 * Only one thread at a time may use a film. A film that is still being recorded can be opened: the
 * reader sees it as it was when it was opened.
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
	 * The frames of samples up to this time have their final names (film_names_settled());
	 * UINT64_MAX: all frames have.
	 */
	uint64_t settled;

	bool is_open;	 /* not closed by its recorder, which still runs or was killed */
	bool is_cut_off; /* film_look_at_end() found that the recorder is gone */

	struct film_private *private;
};

/* film_tables_size() of a film of which all was read; never 0. */
static inline uint64_t film_tables_of(const struct film *film)
{
	return film_tables_size(&(struct film_counts){film->process_count, film->thread_count,
						      film->function_count, film->frame_count,
						      film->stack_count});
}

/*
 * Gives frames of code in files with a build id that have no name one in memory: find() returns the
 * name of the function at a virtual address of the image, valid until its next call, or null. It is
 * asked once for each place. Pointers to film->functions are invalid afterwards. 0 or -ENOMEM.
 */
int film_name_frames(struct film *film,
		     const char *(*find)(void *context, const struct film_image *image,
					 uint64_t address),
		     void *context);

int film_open(const char *path, struct film **film, struct fail *why);
/* Sets is_cut_off if the film is open but its recorder is gone. */
void film_look_at_end(struct film *film);
/*
 * Removes the side files of a closed film, which its recorder had to leave because readers had the
 * film open. Returns 0 or a negative errno; -EBUSY: readers still have it open.
 */
int film_make_single(const char *path);
/* Loads only info, which is faster; the rest is as in an empty film. */
int film_open_info(const char *path, struct film **film, struct fail *why);
/* Loads only info, events and losses. */
int film_open_losses(const char *path, struct film **film, struct fail *why);
/*
 * As film_open(), for a film that is being recorded. film_catch_up() updates it to what film_open()
 * would load at that moment, but reads only what was added. Pointers into the film are invalid
 * afterwards. After an error (-ESTALE: another film replaced it) only film_free() may be called.
 */
int film_follow(const char *path, struct film **film, struct fail *why);
int film_catch_up(struct film *film, struct fail *why);
void film_free(struct film *film); /* null is allowed */

/* The id of the event with that name, or 0. */
uint32_t film_find_event(const struct film *film, const char *name);

/* The inlined calls of a frame: *count entries sorted by depth; null: none. */
const struct film_inline *film_inlines_of(const struct film *film, uint32_t frame, size_t *count);

/*
 * Calls emit() with each block of samples of one event, in order of time. Blocks outside [from, to)
 * are not decompressed, and blocks that extend beyond it are cut. If emit() returns a value other
 * than 0, the walk ends and returns that value. Otherwise returns 0 or a negative errno with *why
 * filled. What emit() gets is valid only until it returns.
 *
 * Waits can be read as samples, too: time is the wait's end, value its duration.
 *
 * While emit() runs, another thread of the reader already reads the next block. Therefore emit(),
 * here and below, must not start another walk over the same film.
 */
int film_each_samples(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		      int (*emit)(void *context, const struct film_samples *samples), void *context,
		      struct fail *why);

/*
 * The same for a film that grows: samples in blocks number after + 1 to to. film_block_count()
 * returns the number of blocks; film_settled_count() the number of blocks before the first one
 * whose frames may still get names.
 */
int film_each_new_samples(struct film *film, uint32_t event, uint64_t after, uint64_t to,
			  int (*emit)(void *context, const struct film_samples *samples),
			  void *context, struct fail *why);
uint64_t film_block_count(const struct film *film);
uint64_t film_settled_count(const struct film *film);
/* The time up to which the first film_settled_count() blocks have all committed samples. */
uint64_t film_settled_until(const struct film *film);
/* The time up to which the first `blocks` blocks have the samples of an event. */
uint64_t film_event_until(const struct film *film, uint32_t event, uint64_t blocks);

/*
 * The same for calls that end in [from, to). Blocks come in the order of writing, so the calls of
 * one thread are in order across blocks. backwards: the last block comes first; the calls within a
 * block are sorted by end in both cases.
 */
int film_each_calls(struct film *film, uint32_t event, uint64_t from, uint64_t to, bool backwards,
		    int (*emit)(void *context, const struct film_calls *calls), void *context,
		    struct fail *why);

/* The same for waits that end in [from, to), with all of their columns, sorted by end. */
int film_each_waits(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct film_waits *waits), void *context,
		    struct fail *why);

/* The same for waits for locks. */
int film_each_locks(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct film_locks *locks), void *context,
		    struct fail *why);

/* The same for turns. */
int film_each_turns(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct film_turns *turns), void *context,
		    struct fail *why);

enum {
	FILM_AT_ONCE_MAX = 8
};

/*
 * Runs count walks over the turns at once, 1 to FILM_AT_ONCE_MAX: each has a context and a thread
 * of its own, which calls emit() with all turns in order. If emit() returns a value other than 0,
 * all walks end.
 */
int film_each_turns_at_once(struct film *film, uint32_t event, uint64_t from, uint64_t to,
			    int (*emit)(void *context, const struct film_turns *turns),
			    void *const *contexts, unsigned int count, struct fail *why);

/* The same for requests that end in [from, to), sorted by end. */
int film_each_requests(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		       int (*emit)(void *context, const struct film_requests *requests),
		       void *context, struct fail *why);

/* The same for the arguments and results of calls that end in [from, to). */
int film_each_values(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     int (*emit)(void *context, const struct film_values *values), void *context,
		     struct fail *why);

/* The same for gauges of the machine whose intervals end in [from, to). */
int film_each_gauges(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		     int (*emit)(void *context, const struct film_gauges *gauges), void *context,
		     struct fail *why);

/* The same for parts of log lines; the parts of one line may come in any order. */
int film_each_logs(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		   int (*emit)(void *context, const struct film_logs *logs), void *context,
		   struct fail *why);

/* The same for kernels and copies of devices that end in [from, to), sorted by end. */
int film_each_works(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		    int (*emit)(void *context, const struct film_works *works), void *context,
		    struct fail *why);

/*
 * The same for all of those that were under way in [from, to), and others that end later: a kernel
 * that ends behind the time may have begun in it. Of a block whose rows all begin behind it, none
 * is read; films of earlier versions do not say that of their blocks.
 */
int film_each_works_in(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		       int (*emit)(void *context, const struct film_works *works), void *context,
		       struct fail *why);

/* The end of an event's last turn, without decompressing blocks; 0: none. */
uint64_t film_turns_end(const struct film *film, uint32_t event);

/*
 * Whether the film has waits, waits for locks, turns, requests, gauges of the machine, log lines,
 * or what devices ran, of an event.
 */
bool film_has_waits(const struct film *film, uint32_t event);
bool film_has_locks(const struct film *film, uint32_t event);
bool film_has_turns(const struct film *film, uint32_t event);
bool film_has_requests(const struct film *film, uint32_t event);
bool film_has_gauges(const struct film *film, uint32_t event);
bool film_has_logs(const struct film *film, uint32_t event);
bool film_has_works(const struct film *film, uint32_t event);

/* Whether the film has any block of an event. */
bool film_has_any(const struct film *film, uint32_t event);

/* Whether the film has arguments or results of an event's calls. */
bool film_has_values(const struct film *film, uint32_t event);

/* Whether the film has memory in use (struct film_held), whose rows have allocation times. */
bool film_has_held(const struct film *film, uint32_t event);

/* The number of calls, or turns, of an event, without decompressing blocks. */
uint64_t film_call_count(struct film *film, uint32_t event);
uint64_t film_turn_count(struct film *film, uint32_t event);

/* The number of function sums of an event; 0: its calls, if any, were kept one by one. */
uint64_t film_sum_count(struct film *film, uint32_t event);

/*
 * Call emit() with each cost of a probe, and with each sum, in the order of writing. Sums are not
 * cut: emit() gets all sums that overlap [from, to).
 */
int film_each_probe(struct film *film, uint32_t event,
		    int (*emit)(void *context, const struct film_probe *probe), void *context,
		    struct fail *why);
int film_each_sum(struct film *film, uint32_t event, uint64_t from, uint64_t to,
		  int (*emit)(void *context, const struct film_sum *sum), void *context,
		  struct fail *why);

/* Number and total value of all samples of an event, without decompressing blocks. */
void film_event_total(struct film *film, uint32_t event, uint64_t *samples, uint64_t *total);

#endif

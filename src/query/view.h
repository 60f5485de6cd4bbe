/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_VIEW_H
#define QUERY_VIEW_H

#include "base/vec.h"
#include "film/reader.h"
#include "query/calls/view.h"
#include "query/fold.h"
#include "query/level.h"
#include "query/names.h"
#include "query/question.h"
#include "query/reasons.h"

/* What distinguishes stacks, besides their frames. */
enum view_group {
	VIEW_WHOLE,   /* nothing */
	VIEW_PROCESS, /* the process */
	VIEW_THREAD,
};

/* The samples of one stack in one group; or the calls of one path, with their own time. */
struct weight {
	uint32_t group; /* id of the process or the thread; 0 in a whole view */
	uint32_t stack; /* 0: no frame is known */
	uint64_t samples, value;
};

/* How far stacks could be followed, counted in samples; complete + truncated are all of them. */
struct view_stacks {
	uint64_t complete, truncated;
	uint64_t guessed; /* of all: with a frame that was found by following a frame pointer */
	uint64_t gaps;	  /* of all: with frames missing in between, for which a mark stands */
	struct view_reasons reasons; /* of the truncated, most first */
};

/* Waits for one lock, of one group, with one holder; and one waker, if that is asked for. */
struct lock_row {
	uint32_t group;
	uint32_t lock, holder, waker; /* marks that name them; waker 0: not asked for */
	uint64_t waits, total, longest;
};

/*
 * One event of a film, seen through a filter: its samples summed up per stack. It refers to the
 * film and to nothing else.
 */
struct view {
	struct film *film;
	const struct film_event *event;
	uint32_t also; /* another event of the film, whose waits are looked at with it; 0: none */
	enum view_group group;
	vec(struct weight) weights; /* sorted by group, then stack */
	/* the stacks of the weights: those of the film, or the paths of its calls */
	const struct film_stack *paths;
	uint32_t path_count;
	struct film_stack *own_paths; /* of waits: paths that were made for this view */
	vec(const char *) marks;      /* and the names of frames behind those of the film */
	struct name_pool mark_names;
	vec(struct lock_row) locks; /* of waits for locks */
	struct fold fold;	    /* of samples: where the stacks are others than the film's */
	struct call_view *calls;    /* null: the event has samples */
	uint64_t samples, total;
	struct level_peak peak; /* of a level, where all ages are asked for */
	/*
	 * What was done for one request: how many others were open on its threads meanwhile, and
	 * waits of which only sums are known, of the film: they are not in total
	 */
	uint64_t others, unplaced;
	/*
	 * A bit for each enum unlinked_kind: of what was done for requests, some was done by
	 * threads that run such tasks by turns, of which not all need to be for the request
	 */
	uint32_t unlinked;
	uint64_t film_samples; /* of this event, with any filter */
	bool is_filtered;
	uint64_t from, to;   /* the part of the film that was looked at; from <= to */
	uint64_t *processes; /* per id of a process: its part of total; null: not known */
	struct view_stacks stacks;
	struct view_reasons losses; /* the film's own account for this event, unfiltered */
};

/*
 * Looks at a film. Returns 0 or a negative errno with *why filled; view_free() is needed in either
 * case.
 */
int view_open(struct film *film, const struct question *q, enum view_group group, struct view *view,
	      struct fail *why);
void view_free(struct view *view);

/*
 * The event of that name; null: the first. Returns 0, or -ENOENT with *why filled: which ones there
 * are.
 */
int view_event(const struct film *film, const char *name, uint32_t *event, struct fail *why);

/*
 * The event whose waits are asked for with those of another one (--idle). *also 0: the film has
 * none. Returns 0, or -EINVAL with *why filled: that event has nothing to do with it.
 */
int view_event_also(const struct film *film, const struct question *q, uint32_t event,
		    uint32_t *also, struct fail *why);

/* Whether an event's single calls or sums of them are in a film. */
bool view_is_calls(const struct film_event *event);

/* Names of all such frames, from film->frame_count on. */
const char *const *view_marks(const struct view *view, size_t *count);

/* The name of a frame of a path that is none of the film's, "[lost call]"; null: it is one. */
const char *view_mark(const struct view *view, uint32_t frame);

#endif

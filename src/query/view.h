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

/* By what a view separates equal stacks. */
enum view_group {
	VIEW_WHOLE,   /* not at all */
	VIEW_PROCESS, /* by process */
	VIEW_THREAD,
};

/*
 * The sum of the samples of one stack in one group, or of the calls of one path, with their own
 * time.
 */
struct weight {
	uint32_t group; /* id of the process or thread; 0 in a whole view */
	uint32_t stack; /* 0: no frame known */
	uint64_t samples, value;
};

/* Completeness of stacks, counted in samples; complete + truncated are all samples. */
struct view_stacks {
	uint64_t complete, truncated;
	uint64_t guessed; /* of all samples: with a frame that was found by the frame pointer */
	/* of all samples: with missing frames in between, which a mark replaces */
	uint64_t gaps;
	struct view_reasons reasons; /* of the truncated, largest first */
};

/* The sum of waits of one group for one lock with one holder, and one waker if requested. */
struct lock_row {
	uint32_t group;
	uint32_t lock, holder, waker; /* ids of marks that name them; waker 0: not requested */
	uint64_t waits, total, longest;
};

/*
 * One event of a film after filtering: its samples summed up by stack. It points only into the
 * film.
 */
struct view {
	struct film *film;
	const struct film_event *event;
	uint32_t also; /* another event of the film whose waits are included; 0: none */
	enum view_group group;
	vec(struct weight) weights; /* sorted by group, then stack */
	/* the stacks of weights: the film's, or the paths of its calls */
	const struct film_stack *paths;
	uint32_t path_count;
	struct film_stack *own_paths; /* for waits: paths that this view has created */
	vec(const char *) marks;      /* names of frames whose ids follow the film's */
	struct name_pool mark_names;
	vec(struct lock_row) locks; /* for waits for locks */
	struct fold fold;	    /* for samples: used if stacks differ from the film's */
	struct call_view *calls;    /* null: the event has samples */
	uint64_t samples, total;
	struct level_peak peak; /* of a level, if allocations of all ages are requested */
	/*
	 * For a question about one request: number of other requests that were open on its threads
	 * meanwhile, and the film's waits of which only sums are known: they are not in total
	 */
	uint64_t others, unplaced;
	bool has_cpus; /* by CPU: the CPU of at least one sample is known */
	/*
	 * For a question about requests: set of enum film_task_kind. Some threads alternate between
	 * such tasks, which may not all belong to the request
	 */
	uint32_t unlinked;
	uint64_t film_samples; /* samples of this event before filtering */
	bool is_filtered;
	uint64_t from, to;   /* the range of the film; from <= to */
	uint64_t *processes; /* by process id: its part of total; null: not known */
	struct view_stacks stacks;
	struct view_reasons losses; /* the film's losses for this event, unfiltered */
};

/*
 * Creates a view of a film. Returns 0 or a negative errno with *why filled; call view_free() in
 * both cases.
 */
int view_open(struct film *film, const struct question *q, enum view_group group, struct view *view,
	      struct fail *why);
void view_free(struct view *view);

/*
 * Finds an event by name; null: the first. Returns 0, or -ENOENT with *why filled, which lists the
 * film's events.
 */
int view_event(const struct film *film, const char *name, uint32_t *event, struct fail *why);

/*
 * Finds the event whose waits a question includes (--idle). *also 0: the film has none. Returns 0,
 * or -EINVAL with *why filled: the option does not apply to that event.
 */
int view_event_also(const struct film *film, const struct question *q, uint32_t event,
		    uint32_t *also, struct fail *why);

/*
 * For a question about one film. Returns 0, or -EINVAL with *why filled: it groups by CPU, and the
 * film does not have the CPU of any of the samples. Where several films are added, those without
 * are a group.
 */
int view_need_cpus(const struct view *view, const struct question *q, struct fail *why);

/* Whether an event consists of calls or sums of calls. */
bool view_is_calls(const struct film_event *event);

/* The names of all frames of this view, whose ids begin with film->frame_count. */
const char *const *view_marks(const struct view *view, size_t *count);

/* The name of a frame of this view: "[lost call]"; null: it is a frame of the film. */
const char *view_mark(const struct view *view, uint32_t frame);

#endif

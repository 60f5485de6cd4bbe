/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ASK_H
#define STORE_ASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "query/flame.h"
#include "query/functions.h"
#include "query/heat.h"
#include "query/places.h"
#include "query/question.h"
#include "query/tree.h"
#include "store/store.h"

/*
 * What is asked of a store. Whole minutes of services are answered by the index; what it does not
 * hold (single seconds, processes, threads, lines …) by the films themselves, which takes longer.
 */
struct store_ask {
	const char *event; /* null: event_usual() */
	uint64_t from, to; /* [from, to), ns since 1970; 0, 0: all that is there */
	const char *host, *service, *version; /* exact; null: all */
	/*
	 * Those alone that the client may see: a valid list of base/globs.h; null: all. Of the
	 * threads of other services an answer has no names, but numbers it may have.
	 */
	const char *services;
	const char *const *labels; /* "KEY=VALUE", all must match; those given by users */
	size_t label_count;
	const char *by_label; /* a key, for STORE_BY_LABEL */
	/* pids, tids, comms, focus, ignore, and the shape; its event and times are not looked at */
	const struct question *question; /* may be null */
	/*
	 * At most this many nodes (flame_prune()) and functions (functions_first(), by self or
	 * total) will be shown; 0: all. Where the index answers, the answer then holds what these
	 * need, and no more: of a large store it takes a fraction of the time, and of the memory.
	 * For store_flame() alone.
	 */
	uint32_t nodes_max, functions_max;
	uint64_t
		/*
		 * ns of a CPU that reading films may take, and STORE_WAIT times as many in all; 0:
		 * as below. One film is always read.
		 */
		patience;
	const atomic_bool *
		/*
		 * set once no client waits for the answer: then it ends with -ECANCELED; may be
		 * null
		 */
		gone;
};

static inline bool store_ask_is_gone(const struct store_ask *ask)
{
	return ask->gone && atomic_load_explicit(ask->gone, memory_order_relaxed);
}

/* so that, with what is made of them, an answer of an idle machine is there within two seconds */
#define STORE_PATIENCE 1500000000ull
#define STORE_WAIT     6 /* on a machine that has more to do */

/* What all answers say of the samples that they stand for. */
struct store_sum {
	uint64_t from, to; /* what was looked at: whole minutes where the index answered */
	uint64_t samples, total;
	uint64_t truncated, guessed; /* of samples */
	const char *unit;	     /* of the event: "ns" … */
	/*
	 * All samples from complete_from on and before complete_until are in the answer, ns since
	 * 1970. Later ones, of films that still grow, may be missing, and earlier ones, where there
	 * was no time to read all films. Where all is there, they are `from` and `to`.
	 */
	uint64_t complete_from, complete_until;
	/*
	 * ns from `from` to `to` that were filmed of the hosts that were asked for, with the event,
	 * and whose samples are in the answer: what an average is of. A gap within
	 * one film counts as filmed.
	 */
	uint64_t filmed;
	bool by_films; /* the index could not answer */
	/*
	 * The index chose stacks by the names of functions: inlined functions and an interpreter's
	 * own frames were not searched, and how many samples the total is of is not known:
	 * samples, truncated and guessed are 0.
	 */
	bool by_paths;
	uint32_t
		/* films of that time that could not be read, or not by this version: a gap */
		films_damaged;
	/*
	 * Films that there was no time for (store_ask.patience), or no room: the oldest, which end
	 * before complete_from, but of places and processes, where they are spread over the time.
	 */
	uint32_t films_unread;
	/* Of these, films that only the bucket has, and that could not be read from it. */
	uint32_t films_unfetched;
	uint64_t
		/*
		 * of the films that were looked at, over all reasons: samples, parts of stacks,
		 * events
		 */
		lost;
	/*
	 * Of these, whole samples of the event (film/loss_kinds.h). The rest are parts of stacks,
	 * names and tables, say.
	 */
	uint64_t lost_samples;
};

/*
 * A flame with its functions; neither siblings nor functions are sorted (flame_prune() and
 * functions_first() do, of what is shown). Of a comparison, functions are, as diff_sort() says. The
 * strings live as long as the answer, no longer. *before of store_diff() is scaled as everywhere
 * (query/diff.h). To be freed, also after a failure.
 */
struct store_answer {
	struct store_sum sum, before;
	struct flame flame;
	struct functions functions;
	struct tree tree;
	bool is_summary; /* of store_calls(): some films have only sums of their calls */
	/*
	 * Of one request (struct filter): how many others were open on its threads meanwhile, and
	 * ns of waits of which it is not known whether they were for it; they are in no total.
	 */
	uint64_t others, unplaced;
	uint32_t
		/* and which tasks share its threads: a bit for each enum film_task_kind */
		unlinked;
	struct store_answer_private *private;
};
int store_flame(struct store *store, const struct store_ask *ask, struct store_answer *answer,
		struct fail *why);
/* The same of an event of calls, answered by films: the functions have their calls. */
int store_calls(struct store *store, const struct store_ask *ask, struct store_answer *answer,
		struct fail *why);
int store_diff(struct store *store, const struct store_ask *before, const struct store_ask *now,
	       struct store_answer *answer, struct fail *why);
void store_answer_free(struct store_answer *answer);

/* What each one used. Sorted by total, largest first; at most limit, the rest is in others. */
struct store_series {
	const char *host, *service, *version;
	const char *labels; /* "env=prod,zone=a" */
	uint64_t samples, total;
};
struct store_series_list {
	struct store_sum sum;
	struct store_series *at;
	size_t count;
	uint64_t others; /* of total */
	struct store_answer_private *private;
};
int store_series(struct store *store, const struct store_ask *ask, size_t limit,
		 struct store_series_list *list, struct fail *why);
void store_series_free(struct store_series_list *list);

/*
 * Processes and their threads, answered by films; as above. A process stands before its threads,
 * which have a tid, and has their sum.
 */
struct store_process {
	const char *host, *service, *comm, *command; /* command: of processes, of threads "" */
	uint32_t pid, tid;			     /* tid 0: the process */
	uint64_t samples, total;
};
struct store_processes {
	struct store_sum sum;
	struct store_process *at;
	size_t count;
	/*
	 * Of total: processes that are not in the list. Of very many the small ones were not kept
	 * until the end.
	 */
	uint64_t others;
	struct store_answer_private *private;
};
int store_processes(struct store *store, const struct store_ask *ask, size_t limit,
		    struct store_processes *list, struct fail *why);
void store_processes_free(struct store_processes *list);

/* Where in a function samples were, answered by films; image as in places_add(). */
struct store_places {
	struct store_sum sum; /* of all that is asked for, not of the function alone */
	struct places places;
};
int store_places(struct store *store, const struct store_ask *ask, const char *name,
		 const char *image, struct store_places *places, struct fail *why);
void store_places_free(struct store_places *places);

/*
 * What was lost, by reason, the largest count first; answered by films. Losses are of whole films
 * and all their services: when, and whose, is not known.
 */
enum {
	STORE_REASONS_MAX = 256, /* what others lost is in the sum alone */
};
struct store_loss {
	char *reason;
	uint64_t count;
};
struct store_losses {
	struct store_sum sum; /* without samples; lost: over all reasons */
	vec(struct store_loss) all;
};
int store_losses(struct store *store, const struct store_ask *ask, struct store_losses *losses,
		 struct fail *why);
void store_losses_free(struct store_losses *losses);

/*
 * Totals over time, a row per host, service, version or for all; function: only what was spent in
 * and below it.
 */
enum store_by {
	STORE_BY_NOTHING,
	STORE_BY_HOST,
	STORE_BY_SERVICE,
	STORE_BY_VERSION,
	STORE_BY_LABEL, /* the value of store_ask.by_label; what has none is in the last row */
};
struct store_timeline {
	struct store_sum sum;
	uint64_t step; /* ns; the first step begins at sum.from */
	size_t steps, rows;
	uint64_t *filmed; /* of each step, how much of sum.filmed lies in it, ns */
	struct store_timeline_row {
		const char *name; /* the last one, "": all others */
		uint64_t total;
		uint64_t *values; /* of each step */
	} * at;			  /* sorted by total, others last */
	struct store_answer_private *private;
};
enum {
	STORE_STEPS_MAX = 2000,
	STORE_ROWS_MAX = 100
};
int store_timeline(struct store *store, const struct store_ask *ask, enum store_by by, size_t steps,
		   size_t rows, const char *function, struct store_timeline *timeline,
		   struct fail *why);
void store_timeline_free(struct store_timeline *timeline);

/*
 * When samples were, answered by films: at most HEAT_SECONDS_MAX seconds (query/heat.h), else
 * -EINVAL.
 */
struct store_heat {
	struct store_sum sum;
	struct heat map;
};
int store_heat(struct store *store, const struct store_ask *ask, struct store_heat *heat,
	       struct fail *why);
void store_heat_free(struct store_heat *heat);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ASK_PRIVATE_H
#define STORE_ASK_PRIVATE_H

#include <limits.h>

#include "query/filter.h"
#include "query/names.h"
#include "query/requests.h"
#include "query/calls/functions.h"
#include "query/view.h"
#include "store/ask.h"
#include "store/build_names.h"
#include "store/index_private.h"
#include "store/sums.h"

/* What the files of store/ask*.c share. */

enum {
	/* where the index has an answer too, this many films are not read for a better one */
	ASK_FILMS_BETTER = 16,
	/*
	 * what emit() of ask_films() returns when there is no room for more: what it was given is
	 * in the answer
	 */
	ASK_ENOUGH = 1,
	/* a tree of more nodes takes no more films */
	ASK_NODES_MAX = 1 << 22,
	/* more processes and threads are not kept at the same time */
	ASK_PROCESSES_MAX = 1 << 17,
};

/* What films say of the one request that an ask is about (struct filter), where it is about one. */
struct asked_request {
	uint32_t films; /* that have it */
	/* as in struct view */
	uint64_t others, unplaced;
	uint32_t unlinked;
};

/* What an answer's strings and lists lie in. */
struct store_answer_private {
	struct name_pool names;
	vec(struct film_image *) images;
	struct film_event event;
	struct call_functions
		calls; /* what the films say of single calls, by label, if that is wanted */
	bool wants_calls, is_summary;
	bool is_shown;	   /* by paths_shown() */
	uint32_t left_out; /* nodes */
	struct asked_request request;
	struct index *index;	       /* shared: strings of the answer lie in it; null: none do */
	struct dictionary *dictionary; /* the same, and the answer's own */
};

/* Null: no memory, with *why filled; null may be freed. */
struct store_answer_private *answer_private_new(struct fail *why);
void answer_private_free(struct store_answer_private *private);

/* An ask, as the store understands it. */
struct asked {
	struct store *store;
	struct index *index;
	const struct store_ask *ask;
	uint32_t event; /* of the index; 0: it has none of that name */
	const char *event_name, *unit;
	uint64_t from, to;	 /* [from, to), ns since 1970 */
	uint64_t first, end;	 /* whole minutes since 1970 around them: [first, end) */
	uint64_t complete_until; /* see struct store_sum */
	uint64_t read_until;	 /* the same, for who reads the films */
	bool one_service;	 /* only the service matters: sums over its series do */
	bool is_level; /* of the event: its values are never summed over time, so films answer */
	/* of a level: the states of all time are wanted, not the last one of each process */
	bool each_state;
	struct map *
		/*
		 * of a level: the processes whose last state is known; null: that does not matter
		 */
		seen;
	bool is_spread; /* a part of the films says much the same as all: see ask_films() */
	/* by path of the view: whether names of functions keep it; null: all are kept */
	uint8_t *kept;
	struct filmed_steps *steps; /* what of each was filmed is wanted; null: of all time alone */
};

/*
 * asked_free() is needed in either case. An event that no film has: fails with words, unless none
 * was named or nothing is in the store.
 */
int asked_begin(struct asked *asked, struct store *store, const struct store_ask *ask,
		struct fail *why);
void asked_free(struct asked *asked);

/* Stands for a process in all films: by host, labels, service, name and number. */
uint64_t asked_process(const struct asked *asked, const char *host, const struct film *film,
		       uint32_t process);

/*
 * 0, or -ECANCELED with *why filled once no client waits for the answer: asked between films, and
 * between rows.
 */
int asked_still(const struct asked *asked, struct fail *why);

/* Whether the client may see a service. */
bool asked_service(const struct store_ask *ask, const char *service);
/* Whether a series is meant. */
bool asked_series(const struct store_ask *ask, const struct dictionary_series *series);

/*
 * Which sums answer it, if films do not: those of all collectors, or the index of the folder.
 * exact: see fleet_answers().
 */
const struct sums_verbs *asked_sums(const struct asked *asked, enum sums_what what, bool exact);
/* Whether the films must be read: the index does not tell apart what is asked for. */
bool asked_needs_films(const struct asked *asked);
/* Whether the latest is asked for, and the index is far behind it: films that grow have it. */
bool asked_is_late(const struct asked *asked);
/* Whether they must be for the names of functions alone, which the index knows nearly as well. */
bool asked_by_names(const struct asked *asked);
/* Sets asked->kept to the paths that those names keep. Returns 0 or a negative errno. */
int asked_keep_named(struct asked *asked, const struct sums_view *view, struct fail *why);
/* The name of a function of sums, or of its place if it has none. to: room for it. */
const char *asked_function_name(const struct asked *asked, const struct dictionary *d, uint32_t id,
				char to[BUILD_NAME_SIZE]);
/* Whether reading them is better: a short time that does not begin or end with a minute. */
bool asked_prefers_films(const struct asked *asked);

/* Time that films cover, by steps of a time: the last one has what is behind it, too. In ns. */
struct filmed_steps {
	uint64_t from, step;
	size_t count;
	uint64_t *at;
};

/* Time that films cover, added up from films in the order of their begin; all in ns since 1970. */
struct filmed {
	uint64_t until; /* at first the begin of the time that is meant */
	uint64_t end;	/* its end */
	uint64_t sum;
	struct filmed_steps *steps; /* null: not wanted */
};
void filmed_add(struct filmed *filmed, uint64_t first, uint64_t last);

/*
 * Adds the paths of an ask to the sums of one side; then makes the tree of both (tree_init() was
 * called), which sets the sums back.
 */
int paths_add(const struct asked *asked, struct sums_view *view, enum tree_side side,
	      struct store_sum *sum, struct fail *why);
int paths_tree(struct sums_view *view, struct tree *tree);
/*
 * Of the sums of TREE_NOW alone: the same, but only the part that will be shown (struct
 * store_ask), with the functions. Sets the sums back.
 */
int paths_shown(struct sums_view *view, const struct store_ask *ask, struct store_answer *answer);

enum {
	SEEN_SELF = 1,	/* something was spent in or below it */
	SEEN_PLAIN = 2, /* it is the plain one of such a path */
};
/* Marks all paths above what was spent; returns how many nodes there are at most. */
size_t paths_mark(struct sums_view *view);
/* The label of a function; labels: by function, plus one, 0: none yet. LABEL_NONE: no memory. */
uint32_t paths_label(const struct dictionary *d, struct tree *tree, uint32_t *labels, uint32_t id);

/*
 * ask_away.c: films of an ask that only the bucket has. ask_away_begin() reads as many as time and
 * room allow, the newest first; ask_away_end() is needed in any case. All zero is empty.
 */
struct ask_away_film {
	char *name;
	bool is_here; /* it could be read */
};
struct ask_away {
	vec(struct ask_away_film) films;
};
int ask_away_begin(const struct asked *asked, struct ask_away *away, struct fail *why);
void ask_away_end(const struct asked *asked, struct ask_away *away);
/* Whether only the bucket has a film. */
bool ask_is_away(const struct asked *asked, const char *name);
/* Where a film is to be opened. False: only the bucket has it. */
bool ask_away_path(const struct asked *asked, const struct ask_away *away, const char *name,
		   char path[PATH_MAX]);

/* A film that is not a store's: its recorder is not known. */
static inline bool ask_is_single(const char *name)
{
	return *name == '/';
}

/*
 * Opens the films of an ask one after the other, the newest first, so that one is in memory at a
 * time. question: the ask's, with the time and the processes that are meant; event: the film's id
 * of the ask's event. Films that lack it are left out. A damaged one is counted. Ends with an error
 * of emit(), or when its time or room is used up: those that were not read are counted, too, and
 * sum->complete_from is where the last of them ends.
 *
 * Where asked->is_spread is set, the newest is read first, and then the others in an order in which
 * those that were read lie evenly in the time, and among the hosts, whenever it ends; and
 * sum->complete_until is where the first one begins that was not.
 */
struct ask_film {
	struct film *film;
	const char *host;
	const struct question *question;
	struct index_series_finder *finder;
	uint32_t event;
	bool is_limited; /* to services that the client may see */
};
/* Whether the question keeps a thread of the film by its process. */
bool ask_film_keeps(const struct ask_film *of, uint32_t thread);
typedef int film_opener(const char *path, struct film **film, struct fail *why);
int ask_films(const struct asked *asked, film_opener *open, struct store_sum *sum,
	      int (*emit)(void *context, const struct ask_film *film), void *context,
	      struct fail *why);

/*
 * Calls each() with the requests of a film of ask_films(), in the time that the question asks for:
 * they may be of threads that it leaves out, which *kept says meanwhile. A film without requests
 * has none. Returns 0 or a negative errno with *why filled.
 */
int asked_requests(const struct ask_film *of, struct filter_kept *kept,
		   int (*each)(void *context, const struct request *request), void *context,
		   struct fail *why);

/*
 * As view_open(), of a film of ask_films(). A film without the request that the ask is about has
 * nothing to show: *has is false then, and 0 is returned. view_free() is needed in any case.
 */
int asked_view(const struct ask_film *of, enum view_group group, struct view *view,
	       struct asked_request *request, bool *has, struct fail *why);
/* 0; or -ENOENT with *why filled where no film has the request that the ask is about. */
int asked_request_check(const struct asked_request *request, const struct store_ask *ask,
			const struct store_sum *sum, struct fail *why);

/* Adds what the films have to one side of a tree. */
int films_add(const struct asked *asked, struct tree *tree, enum tree_side side,
	      struct store_answer_private *private, struct store_sum *sum, struct fail *why);

/* How many films an ask would open; negative: an error. */
int64_t ask_count_films(const struct asked *asked, struct fail *why);

/* index_scan.c: each() of the index. */
int index_scan(const struct asked *asked, struct sums_view *view, enum sums_what what,
	       int (*row)(void *context, const struct sums_row *row), void *context,
	       struct fail *why);

/* Adds up; -EOVERFLOW with *why filled. */
int sum_add(struct store_sum *sum, uint64_t samples, uint64_t total, struct fail *why);

#endif

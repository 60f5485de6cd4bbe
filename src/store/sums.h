/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SUMS_H
#define STORE_SUMS_H

#include <stdint.h>

#include "base/fail.h"
#include "store/cells.h"
#include "store/dictionary.h"

/*
 * The sums that answers are made of, behind a few verbs: what keeps sums is the index of the folder
 * (index_sums.c), or another store in a folder of its own. Sums answer lists of series, totals over
 * time, flame graphs, comparisons and functions by name. What a sum does not keep (requests,
 * timelines of threads, locks, logs, places, single processes) is read from the films by
 * ask_films(), wherever the sums are kept.
 *
 * An answer calls open(), then for each of its sides select(), about() and each(), and close() at
 * the end. Rows name series and paths by their numbers in a dictionary, so that what is made of
 * them (ask_paths.c, ask_shown.c, ask_series.c, ask_timeline.c) does not know where they come from.
 */

struct asked;
struct store_answer_private;
struct store_sum;
struct sums_verbs;

/* Scratch of ask_paths.c and ask_shown.c, by path; all zero between answers. */
struct path_sums {
	uint64_t *sums[2]; /* by enum tree_side */
	uint8_t *seen;
	uint32_t *nodes;
	size_t room;
};
/* Frees it, also where a failure left something in it. */
void sums_drop(struct path_sums *sums);

/* What an answer sees of the sums: it does not change until close(), but by select(). */
struct sums_view {
	const struct sums_verbs *verbs;
	const struct dictionary *dictionary;
	uint32_t paths; /* rows have paths below this one */
	struct path_sums by_path;
};

/* What rows are wanted for. */
enum sums_what {
	SUMS_TOTALS,	   /* no paths; what the minutes of rows are does not matter */
	SUMS_HOURS,	   /* no paths; hours as they are */
	SUMS_MINUTES,	   /* no paths; every minute for itself */
	SUMS_PATHS,	   /* hours as they are */
	SUMS_MINUTE_PATHS, /* every minute for itself */
};

/*
 * A row: sums of a series in some minutes, and the paths they are of, if they are wanted. With
 * asked->one_service the series of a row may stand for all of its service. Where asked->kept is
 * set, a row has the paths that are kept, and their total; how many samples they were is not known,
 * so its other counts are 0.
 */
struct sums_row {
	uint32_t series;
	uint64_t minute; /* the first, since 1970 */
	struct cell_sum sum;
	const uint64_t *path, *value;
	size_t count;
};

/* A film of the time; the strings live until the call returns. */
struct sums_film {
	const char *name, *host;
	uint64_t first, last; /* ns since 1970 */
};

/* All return 0 or a negative errno with *why filled. */
struct sums_verbs {
	int (*open)(const struct asked *asked, struct sums_view **view, struct fail *why);
	/* Gets what each() will pass on: from here on the dictionary has its series and paths. */
	int (*select)(struct asked *asked, struct sums_view *view, enum sums_what what,
		      struct fail *why);
	/* Fills in what is known of the time without its samples: losses, damaged films, gaps. */
	int (*about)(const struct asked *asked, struct sums_view *view, struct store_sum *sum,
		     struct fail *why);
	/* Calls row() with each row; a value other than 0 ends the walk and is returned. */
	int (*each)(const struct asked *asked, struct sums_view *view, enum sums_what what,
		    int (*row)(void *context, const struct sums_row *row), void *context,
		    struct fail *why);
	/*
	 * Calls film() with the films that end at or after asked->from, begin before asked->to, are
	 * of the ask's host and have its event, by their begin; as each().
	 */
	int (*films)(const struct asked *asked, struct sums_view *view,
		     int (*film)(void *context, const struct sums_film *film), void *context,
		     struct fail *why);
	/* keep: the answer, in which strings of the dictionary live on. */
	void (*close)(const struct asked *asked, struct sums_view *view,
		      struct store_answer_private *keep);
};

#endif

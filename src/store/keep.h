/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_KEEP_H
#define STORE_KEEP_H

#include "film/event_list.h"
#include "film/writer.h"
#include "store/store.h"

/* The label that a film has that was kept: why. */
#define STORE_KEPT_LABEL "kept"
/* When that was, seconds since 1970: of a film that is sent to a store, which marks the moment. */
#define STORE_KEPT_TIME_LABEL "kept-at"
/*
 * Events that other films of the host have of that time, as "on-cpu+threads": sums do not count
 * them twice.
 */
#define STORE_KEPT_BESIDE_LABEL "kept-beside"
/* How the text of a mark begins that names a film that was kept. */
#define STORE_KEPT_MARK "kept: "

/* Films of this machine that were in memory, and are to become one film of the store. */
struct store_keep {
	struct film_bytes *films; /* in the order of their time; freed, also after an error */
	size_t count;
	const char *host;
	const char *labels; /* that the films have, film/labels.h; null: none */
	const char *reason; /* why, any text: a mark, and as much text as fits a label */
	uint64_t start;	    /* ns since 1970: when the first of them begins, … */
	uint64_t time;	    /* … and when what is the reason happened */
	const struct event_list
		*recorded; /* events that other films have of that time; null: none */
	bool is_sent;	   /* to another store: the film itself says when that was, too */
};

/*
 * Makes them one film at a path, by way of a folder of parts within folder, which is removed again.
 * Returns 0 or a negative errno with *why filled; -ENODATA: there are none. Frees the films.
 */
int store_keep_at(const char *folder, const struct store_keep *keep, const char *path,
		  struct fail *why);

/* path: becomes that of the film. Returns 0 or a negative errno with *why filled. */
int store_keep(struct store *store, const struct store_keep *keep, char *path, size_t size,
	       struct fail *why);

/* A mark of one more thing that happened in the time of a film that was kept. */
int store_keep_mark(struct store *store, const char *host, uint64_t time, const char *reason,
		    struct fail *why);

/* For store_open(): removes what one that was killed has left. */
void store_keep_clean(const struct store *store);

#endif

// SPDX-License-Identifier: Apache-2.0
#include "store/spans.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/database.h"
#include "store/room.h"

#define NAME "spans.db"

/* A damaged one is of no more use: the films do not need it. */
static int begin_anew(struct store *store, const char *path, struct spans_db **db, struct fail *why)
{
	char to[PATH_MAX];
	int err;

	store_say(store, "%s: it was moved to aside/" NAME ", and another one begins", why->what);
	snprintf(to, sizeof(to), "%.4000s/aside/" NAME, store->path);
	err = database_move(path, to);
	if (err)
		return fail_errno(why, err, NULL, "cannot move %s aside", path);
	return spans_db_open(path, false, db, why);
}

/* With the lock held. is_reader: one that is not there is not made: 0, with none. */
static int open_spans(struct store *store, bool is_reader, struct fail *why)
{
	char path[PATH_MAX];
	int err;

	if (store->spans || (store->is_single && is_reader))
		return 0;
	if (store->is_single)
		return fail(why, -EROFS, NULL, "one film is shown, nothing is kept");
	err = store_path_of(store, NAME, path, sizeof(path));
	if (err)
		return fail_errno(why, err, NULL, "cannot keep spans");
	if (is_reader && access(path, F_OK))
		return 0;
	err = spans_db_open(path, false, &store->spans, why);
	return err == -EBADMSG ? begin_anew(store, path, &store->spans, why) : err;
}

int store_spans_add(struct store *store, const struct span *spans, size_t count,
		    struct spans_added *added, struct fail *why)
{
	int err;

	pthread_mutex_lock(&store->spans_lock);
	*added = (struct spans_added){0};
	err = open_spans(store, false, why);
	if (!err)
		err = spans_db_add(store->spans, spans, count, added, why);
	store->spans_taken += added->kept;
	store->spans_again += added->again;
	if (added->dropped && !store->spans_dropped)
		store_say(store, "the oldest of %d spans are dropped", SPANS_MAX);
	store->spans_dropped += added->dropped;
	pthread_mutex_unlock(&store->spans_lock);
	return err;
}

int store_spans_find(struct store *store, const struct spans_wanted *wanted,
		     struct spans_found *found, struct fail *why)
{
	int err;

	*found = (struct spans_found){0};
	pthread_mutex_lock(&store->spans_lock);
	err = open_spans(store, true, why);
	if (!err && store->spans)
		err = spans_db_find(store->spans, wanted, found, why);
	pthread_mutex_unlock(&store->spans_lock);
	return err;
}

void store_spans_status(struct store *store, struct store_spans_status *status)
{
	pthread_mutex_lock(&store->spans_lock);
	*status = (struct store_spans_status){
		.spans = store->spans ? spans_db_count(store->spans) : 0,
		.taken = store->spans_taken,
		.again = store->spans_again,
		.dropped = store->spans_dropped,
		.removed = store->spans_removed,
	};
	pthread_mutex_unlock(&store->spans_lock);
}

int store_remove_spans(struct store *store, uint64_t now, struct fail *why)
{
	uint64_t age = store->age_max, removed = 0;
	int err = 0;

	if (!age || now < age || clock_ns() < store->no_age_until)
		return 0;
	pthread_mutex_lock(&store->spans_lock);
	err = open_spans(store, true, why);
	if (!err && store->spans)
		err = spans_db_remove(store->spans, now - age, &removed, why);
	store->spans_removed += removed;
	pthread_mutex_unlock(&store->spans_lock);
	return err;
}

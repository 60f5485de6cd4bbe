// SPDX-License-Identifier: Apache-2.0
/*
 * The index is replaced: by a copy without what nothing refers to any more, or, where it was
 * damaged, by an empty one. Answers that are being made go on with the old one, whose file is gone
 * or lies elsewhere; the last of them frees it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/database.h"
#include "store/room.h"

#define FRESH_INDEX "index.new.db"

/* An index that is damaged again and again is the disk's fault, and made anew only so often. */
#define RENEWALS_MAX 3

/* From here on the one at its place is opened, which may have to be tried again. */
static int open_replaced(struct store *store, struct fail *why)
{
	struct index *old = store->index, *fresh = NULL;
	int err = store_open_index(store, &fresh, why);

	if (err)
		return err;
	index_inherit(fresh, old);
	pthread_mutex_lock(&store->lock);
	store->index = fresh;
	pthread_mutex_unlock(&store->lock);
	index_free(old);
	return 0;
}

int store_renew_index(struct store *store, struct fail *why)
{
	char path[PATH_MAX];
	int err = store_path_of(store, "index.db", path, sizeof(path));

	if (!err && store->renewals >= RENEWALS_MAX)
		return fail(why, -EIO, "look at the disk, and start again",
			    "the index of the store %s is damaged again and again", store->path);
	if (!err)
		err = store_set_index_aside(store, path);
	if (err)
		return fail_errno(why, err, NULL, "cannot set the damaged index %s aside", path);
	index_retire(store->index);
	store->renewals++;
	store->is_aside_logged = false;
	pthread_mutex_lock(&store->lock);
	store->set_aside++;
	vec_foreach (&store->films, film) {
		(*film)->is_indexed = (*film)->in_bucket = false;
		(*film)->last = 0;
		(*film)->until = 0;
	}
	pthread_mutex_unlock(&store->lock);
	return open_replaced(store, why);
}

static int remove_fresh(const char *path)
{
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return database_remove_side_files(path);
}

/*
 * The old one is whole in its file, so that nothing is left beside the new one whenever this
 * ends here: a log of the old one would be taken for one of the new.
 */
static int replace(struct store *store, const char *fresh, const char *path, struct fail *why)
{
	int err = folder_sync(fresh);

	if (!err && rename(fresh, path))
		err = -errno;
	if (!err)
		err = database_remove_side_files(path);
	if (!err)
		err = folder_sync_names(path);
	return err ? fail_errno(why, err, NULL, "cannot clean the index of the store %s",
				store->path)
		   : 0;
}

int store_clean_index(struct store *store, struct fail *why)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	bool cleaned = false;
	int err;

	if (index_is_retired(store->index))
		return open_replaced(store, why);
	if (!index_may_clean(store->index))
		return 0;
	err = store_path_of(store, "index.db", path, sizeof(path));
	if (!err)
		err = store_path_of(store, FRESH_INDEX, fresh, sizeof(fresh));
	if (!err)
		err = remove_fresh(fresh);
	if (err)
		return fail_errno(why, err, NULL, "cannot clean the index of the store %s",
				  store->path);
	err = index_clean(store->index, fresh, &cleaned, why);
	if (!err && cleaned)
		err = index_checkpoint(store->index, why);
	if (err || !cleaned) {
		remove_fresh(fresh);
		/* a client is asking: another time */
		return err == -EBUSY ? 0 : err;
	}
	index_retire(store->index);
	err = replace(store, fresh, path, why);
	return err ? err : open_replaced(store, why);
}

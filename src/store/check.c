// SPDX-License-Identifier: Apache-2.0
/* Films that cannot be read: how it is noticed, and what becomes of them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "film/reader.h"
#include "store/room.h"

static int pass_samples(void *context, const struct film_samples *samples)
{
	(void)context;
	(void)samples;
	return 0;
}

static int pass_calls(void *context, const struct film_calls *calls)
{
	(void)context;
	(void)calls;
	return 0;
}

static int pass_probe(void *context, const struct film_probe *probe)
{
	(void)context;
	(void)probe;
	return 0;
}

static int pass_sum(void *context, const struct film_sum *sum)
{
	(void)context;
	(void)sum;
	return 0;
}

int store_check_film(const char *path, struct fail *why)
{
	struct film *film;
	int err = film_open(path, &film, why);

	if (err)
		return err;
	for (uint32_t event = 1; !err && event < film->event_count; event++) {
		err = film_each_samples(film, event, 0, UINT64_MAX, pass_samples, NULL, why);
		if (!err)
			err = film_each_calls(film, event, 0, UINT64_MAX, false, pass_calls, NULL,
					      why);
		if (!err)
			err = film_each_probe(film, event, pass_probe, NULL, why);
		if (!err)
			err = film_each_sum(film, event, 0, UINT64_MAX, pass_sum, NULL, why);
	}
	film_free(film);
	return err;
}

int store_move_aside(struct store *store, const char *path, const char *name)
{
	static const char *const ends[] = {"", "-wal", "-journal", "-shm"};
	char from[PATH_MAX], to[PATH_MAX], flat[FOLDER_NAME_MAX];
	int err = folder_make(store->path, "aside/");

	snprintf(flat, sizeof(flat), "%s", name);
	for (char *at = flat; (at = strchr(at, '/'));)
		*at = '_';
	for (size_t i = 0; !err && i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (snprintf(from, sizeof(from), "%s%s", path, ends[i]) >= (int)sizeof(from) ||
		    snprintf(to, sizeof(to), "%s/aside/%lld_%s%s", store->path,
			     (long long)time(NULL), flat, ends[i]) >= (int)sizeof(to))
			err = -ENAMETOOLONG;
		else if (rename(from, to) && errno != ENOENT)
			err = -errno;
	}
	return err;
}

int store_forget_damaged(struct store *store, struct store_film *film, struct fail *why)
{
	int err = film->last ? index_forget(store->index, film->name, true, why)
			     : index_note_damaged(store->index, film->host, film->start,
						  film->start + NS_PER_HOUR, why);

	if (err)
		return err;
	pthread_mutex_lock(&store->lock);
	store_drop(store, film);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

int store_set_aside(struct store *store, struct store_film *film, struct fail *why)
{
	char path[PATH_MAX];
	int err = store_path_of(store, film->name, path, sizeof(path));

	index_files_change(store->index);
	if (!err)
		err = store_move_aside(store, path, film->name);
	/* a disk that is full, say: what is damaged is in the way, and of no use */
	if (err)
		err = folder_remove(store->path, film->name);
	index_files_changed(store->index);
	if (err)
		return fail_errno(why, err, NULL, "%s is damaged, and cannot be moved aside",
				  film->name);
	pthread_mutex_lock(&store->lock);
	store->set_aside++;
	film->is_damaged = true;
	/* so that it is looked for, and the index told, as soon as that can be written */
	film->is_indexed = film->is_growing = false;
	store_resize(store, film);
	pthread_mutex_unlock(&store->lock);
	return store_forget_damaged(store, film, why);
}

// SPDX-License-Identifier: Apache-2.0
#include "store/bucket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/cache.h"
#include "store/room.h"

/* Where there was no memory to note that a film was sent, it is sent again after that. */
#define AGAIN_NS (300 * NS_PER_SECOND)

#define FOLDER	 "films/"

/* What was sent of a film, and of which file. */
struct store_sent {
	struct index_object as;
	dev_t dev;
	ino_t ino;
};

static uint64_t mtime_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st->st_mtim.tv_nsec;
}

const char *store_bucket_key(const char *name)
{
	return strncmp(name, FOLDER, strlen(FOLDER)) ? name : name + strlen(FOLDER);
}

static bool is_wanted(const struct store_film *film)
{
	return film->is_packed && film->is_indexed && !film->is_growing && !film->is_later &&
	       !film->in_bucket && !film->sent;
}

bool store_next_upload(struct store *store, struct store_upload *upload)
{
	const struct store_film *oldest = NULL;
	uint64_t now = clock_ns();

	pthread_mutex_lock(&store->lock);
	vec_foreach (&store->films, at) {
		const struct store_film *film = *at;

		if (is_wanted(film) && film->send_after <= now &&
		    (!oldest || film->start < oldest->start))
			oldest = film;
	}
	if (oldest && (strlen(oldest->name) >= sizeof(upload->name) ||
		       store_path_of(store, oldest->name, upload->path, sizeof(upload->path))))
		oldest = NULL;
	if (oldest)
		strcpy(upload->name, oldest->name);
	pthread_mutex_unlock(&store->lock);
	return oldest;
}

void store_uploaded(struct store *store, const struct store_upload *upload, const struct stat *st,
		    const struct store_object *object)
{
	struct store_sent *sent = malloc(sizeof(*sent));
	struct store_film *film;

	pthread_mutex_lock(&store->lock);
	film = store_find(store, upload->name);
	if (film && sent) {
		*sent = (struct store_sent){{*object, mtime_of(st)}, st->st_dev, st->st_ino};
		free(film->sent);
		film->sent = sent;
		store->has_sent = true;
		sent = NULL;
	} else if (film) {
		film->send_after = clock_ns() + AGAIN_NS;
	}
	pthread_mutex_unlock(&store->lock);
	free(sent);
}

void store_upload_failed(struct store *store, const struct store_upload *upload, uint64_t ns)
{
	struct store_film *film;

	pthread_mutex_lock(&store->lock);
	film = store_find(store, upload->name);
	if (film)
		film->send_after = clock_ns() + ns;
	pthread_mutex_unlock(&store->lock);
}

/* Whether the film is the file that the bucket has, by its size and time; *st is filled then. */
static bool is_file_of(const struct store *store, const char *name, const struct index_object *of,
		       struct stat *st)
{
	char path[PATH_MAX];

	return !store_path_of(store, name, path, sizeof(path)) && !stat(path, st) &&
	       mtime_of(st) == of->mtime && (uint64_t)st->st_size == of->object.bytes;
}

/* Whether the film is still the file that was sent: a merge may have replaced it. */
static bool is_as_sent(const struct store *store, const struct store_film *film)
{
	const struct store_sent *sent = film->sent;
	struct stat st;

	return is_file_of(store, film->name, &sent->as, &st) && st.st_ino == sent->ino &&
	       st.st_dev == sent->dev;
}

/* A film that was sent; where the index cannot be written, it is tried again. */
static int note_upload(struct store *store, struct store_film *film, struct fail *why)
{
	bool is_same = is_as_sent(store, film);
	int err = 0;

	if (is_same)
		err = index_bucket_set(store->index, film->name, &film->sent->as, why);
	pthread_mutex_lock(&store->lock);
	film->in_bucket = is_same && !err;
	store->has_sent |= err != 0;
	if (!err) {
		free(film->sent);
		film->sent = NULL;
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

static bool has_sent(struct store *store)
{
	bool has;

	pthread_mutex_lock(&store->lock);
	has = store->has_sent;
	store->has_sent = false;
	pthread_mutex_unlock(&store->lock);
	return has;
}

static bool was_sent(struct store *store, const struct store_film *film)
{
	bool was;

	pthread_mutex_lock(&store->lock);
	was = film->sent;
	pthread_mutex_unlock(&store->lock);
	return was;
}

int store_note_uploads(struct store *store, struct fail *why)
{
	struct store_film **films;
	size_t count;
	int err = 0, failed;

	if (!has_sent(store))
		return 0;
	films = store_list(store, &count);
	if (!films)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at the films");
	for (size_t i = 0; i < count; i++) {
		failed = was_sent(store, films[i]) ? note_upload(store, films[i], why) : 0;
		err = err ? err : failed;
	}
	free(films);
	return err;
}

/* A film that the bucket had at an earlier start, if it is still that file. */
static int recall(void *context, const char *name, const struct index_object *of)
{
	struct store *store = context;
	struct store_film *film = store_find(store, name);
	struct stat st;

	if (film)
		film->in_bucket = is_file_of(store, name, of, &st);
	return 0;
}

int store_recall_bucket(struct store *store, struct fail *why)
{
	return index_bucket_each(store->index, UINT64_MAX, recall, store, why);
}

int store_check_copy(struct store *store, struct store_film *film, struct fail *why)
{
	struct index_object of;
	struct stat st;
	int err = index_bucket_find(store->index, film->name, &of, why);

	if (err && err != -ENOENT)
		return err;
	/* one that is not here any more is in the bucket alone */
	if (!err && (is_file_of(store, film->name, &of, &st) || !store_has_file(store, film->name)))
		return 0;
	pthread_mutex_lock(&store->lock);
	store_resize(store, film);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

struct expired {
	struct store *store;
	vec(char *) names;
};

static int add_expired(void *context, const char *name, const struct index_object *of)
{
	struct expired *expired = context;
	bool is_here;
	char *copy;

	(void)of;
	pthread_mutex_lock(&expired->store->lock);
	is_here = store_find(expired->store, name);
	pthread_mutex_unlock(&expired->store->lock);
	if (is_here)
		return 0;
	copy = strdup(name);
	if (copy && vec_push(&expired->names, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

int store_forget_expired(struct store *store, uint64_t before, struct fail *why)
{
	struct expired expired = {.store = store};
	int err = index_bucket_each(store->index, before, add_expired, &expired, why);

	vec_foreach (&expired.names, name) {
		if (!err)
			err = index_forget(store->index, *name, why);
		free(*name);
	}
	vec_free(&expired.names);
	return err;
}

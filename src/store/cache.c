// SPDX-License-Identifier: Apache-2.0
#include "store/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/bucket.h"
#include "store/room.h"

#define FOLDER "cache"
#define PART   FOLDER "/part"
/* Where the bucket was away, it is not asked again for so long: each question would wait for it. */
#define BROKEN_NS (5 * NS_PER_SECOND)

static struct cached *find(struct store_cache *c, const char *name)
{
	vec_foreach (&c->films, film)
		if (!strcmp(film->name, name))
			return film;
	return NULL;
}

int store_fetched_path(const struct store *store, const char *name, char *to, size_t size)
{
	const char *key = store_bucket_key(name);
	int length = snprintf(to, size, "%s/" FOLDER "/%s", store->path, key);
	char *from = length < (int)size ? to + length - strlen(key) : NULL;

	/* no name of a host's folder has it (folder.h) */
	for (; from && *from; from++)
		if (*from == '/')
			*from = '+';
	return from ? 0 : -ENAMETOOLONG;
}

bool store_has_file(const struct store *store, const char *name)
{
	char path[PATH_MAX];

	return !store_path_of(store, name, path, sizeof(path)) && !access(path, F_OK);
}

static void remove_file(const struct store *store, const char *name)
{
	char path[PATH_MAX];

	if (!store_fetched_path(store, name, path, sizeof(path)))
		unlink(path);
}

int store_begin_cache(struct store *store)
{
	int err = store->fetch ? folder_make(store->path, FOLDER "/") : 0, fd;
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	if (!err)
		err = store_path_of(store, FOLDER, path, sizeof(path));
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		/* one without a bucket may have had one */
		err = errno == ENOENT && !store->fetch ? 0 : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((entry = readdir(folder)))
		if (*entry->d_name != '.')
			unlinkat(fd, entry->d_name, 0);
	closedir(folder);
	return 0;
}

void store_free_cache(struct store *store)
{
	struct store_cache *c = &store->cache;

	vec_foreach (&c->films, film)
		free(film->name);
	vec_free(&c->films);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->fetching);
}

static bool pin(struct store_cache *c, const char *name)
{
	struct cached *film;

	pthread_mutex_lock(&c->lock);
	film = find(c, name);
	if (film) {
		film->pins++;
		film->used = clock_ns();
	}
	pthread_mutex_unlock(&c->lock);
	return film;
}

void store_unfetch(struct store *store, const char *name)
{
	struct store_cache *c = &store->cache;
	struct cached *film;

	pthread_mutex_lock(&c->lock);
	film = find(c, name);
	if (film && film->pins)
		film->pins--;
	pthread_mutex_unlock(&c->lock);
}

/* With the lock held: the film that was used longest ago goes. False: questions read them all. */
static bool evict(struct store *store)
{
	struct store_cache *c = &store->cache;
	struct cached *oldest = NULL;

	vec_foreach (&c->films, film)
		if (!film->pins && (!oldest || film->used < oldest->used))
			oldest = film;
	if (!oldest)
		return false;
	remove_file(store, oldest->name);
	c->bytes -= oldest->bytes;
	free(oldest->name);
	*oldest = *vec_last(&c->films);
	c->films.count--;
	return true;
}

static int make_room(struct store *store, uint64_t bytes)
{
	struct store_cache *c = &store->cache;
	bool has_room = bytes <= store->cache_max;

	pthread_mutex_lock(&c->lock);
	while (has_room && c->bytes > store->cache_max - bytes)
		has_room = evict(store);
	pthread_mutex_unlock(&c->lock);
	return has_room ? 0 : -ENOSPC;
}

/* Counts a film that was read, with one pin. */
static int enter(struct store_cache *c, const char *name, uint64_t bytes)
{
	struct cached film = {strdup(name), bytes, clock_ns(), 1};
	bool is_kept;

	pthread_mutex_lock(&c->lock);
	is_kept = film.name && vec_push(&c->films, film);
	c->bytes += is_kept ? bytes : 0;
	pthread_mutex_unlock(&c->lock);
	if (is_kept)
		return 0;
	free(film.name);
	return -ENOMEM;
}

static int read_into(struct store *store, const char *name, const struct store_object *object,
		     const char *part, struct fail *why)
{
	int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), err;

	if (fd < 0)
		return fail_errno(why, -errno, NULL, "cannot write %s", part);
	err = store->fetch(store->context, name, object, fd, why);
	if (close(fd) && !err)
		err = fail_errno(why, -errno, NULL, "cannot write %s", part);
	return err;
}

/* With `fetching` held. */
static int fetch(struct store *store, const char *name, struct fail *why)
{
	struct index *index = store_index(store);
	struct index_object of;
	char part[PATH_MAX], path[PATH_MAX];
	int err = index_bucket_find(index, name, &of, why);

	index_free(index);
	if (!err)
		err = store_path_of(store, PART, part, sizeof(part));
	if (!err)
		err = store_fetched_path(store, name, path, sizeof(path));
	if (!err)
		err = make_room(store, of.object.bytes);
	if (err)
		return fail_errno(why, err, NULL, "cannot read %s from the bucket", name);
	err = read_into(store, name, &of.object, part, why);
	if (!err && rename(part, path))
		err = fail_errno(why, -errno, NULL, "cannot write %s", path);
	if (err)
		unlink(part);
	else if ((err = enter(&store->cache, name, of.object.bytes)))
		unlink(path);
	return err;
}

/* One that is away keeps no question waiting; a missing film says nothing of others. */
static bool is_broken(int err)
{
	return err == -EAGAIN || err == -EACCES || err == -ENXIO;
}

static void count(struct store_cache *c, int err)
{
	pthread_mutex_lock(&c->lock);
	c->fetched += !err;
	c->unfetched += err != 0;
	pthread_mutex_unlock(&c->lock);
}

int store_fetch(struct store *store, const char *name, uint64_t deadline, struct fail *why)
{
	struct store_cache *c = &store->cache;
	const struct timespec until = {(time_t)(deadline / NS_PER_SECOND),
				       (long)(deadline % NS_PER_SECOND)};
	int err;

	if (!store->fetch)
		return fail(why, -ENXIO, "start serve with --bucket",
			    "%s is only in the bucket, and no bucket was given", name);
	if (pin(c, name))
		return 0;
	if (pthread_mutex_clocklock(&c->fetching, CLOCK_MONOTONIC, &until))
		return fail(why, -EAGAIN, NULL, "no time to read %s from the bucket", name);
	if (pin(c, name)) {
		err = 0;
	} else if (clock_ns() < c->broken_until) {
		err = fail(why, -EAGAIN, NULL, "the bucket is away");
		count(c, err);
	} else {
		err = fetch(store, name, why);
		if (is_broken(err))
			c->broken_until = clock_ns() + BROKEN_NS;
		count(c, err);
	}
	pthread_mutex_unlock(&c->fetching);
	return err;
}

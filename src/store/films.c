// SPDX-License-Identifier: Apache-2.0
/* The films of a store as they are known in memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/room.h"

#define PACKED_MODE 0400

int store_path_of(const struct store *store, const char *name, char *to, size_t size)
{
	return snprintf(to, size, "%s/%s", store->path, name) < (int)size ? 0 : -ENAMETOOLONG;
}

struct store_film *store_find(struct store *store, const char *name)
{
	const uint64_t *known = map_get(&store->by_name, hash_bytes(name, strlen(name)));
	struct store_film *film = known ? (struct store_film *)(uintptr_t)*known : NULL;

	if (!film || !strcmp(film->name, name))
		return film;
	/* two names of one hash: the map has the last one */
	vec_foreach (&store->films, other) {
		if (!strcmp((*other)->name, name))
			return *other;
	}
	return NULL;
}

int store_has_name(struct store *store, const char *name, struct fail *why)
{
	struct index_object ignored;
	int err;

	if (store_find(store, name))
		return 1;
	err = index_bucket_find(store->index, name, &ignored, why);
	return err == -ENOENT ? 0 : err ? err : 1;
}

static void film_entry_free(struct store_film *film)
{
	free(film->name);
	free(film->host);
	free(film->agent);
	free(film->events);
	free(film->sent);
	store_unfollow(film);
	free(film);
}

/* The numbers of an agent's films distinguish them from those that were taken before. */
static bool note_agent(struct store *store, const char *name, uint64_t number)
{
	struct store_agent agent = {.number = number};

	if (!*name)
		return true;
	vec_foreach (&store->agents, known) {
		if (strcmp(known->name, name))
			continue;
		if (known->number < number)
			known->number = number;
		return true;
	}
	strcpy(agent.name, name);
	return vec_push(&store->agents, agent);
}

struct store_film *store_add(struct store *store, const char *name, uint64_t bytes,
			     unsigned int mode)
{
	struct store_film *film = calloc(1, sizeof(*film));
	struct folder_name parsed;

	if (!film || !folder_parse(name, &parsed)) {
		free(film);
		return NULL;
	}
	film->name = strdup(name);
	film->host = strdup(parsed.host);
	film->agent = strdup(parsed.agent);
	film->number = parsed.number;
	film->start = parsed.start;
	film->is_part = parsed.is_part;
	film->is_packed = !parsed.is_part && mode == PACKED_MODE;
	film->bytes = bytes;
	if (!film->name || !film->host || !film->agent ||
	    (film->is_part && !note_agent(store, film->agent, film->number)) ||
	    !vec_push(&store->films, film)) {
		film_entry_free(film);
		return NULL;
	}
	film->hash = hash_bytes(name, strlen(name));
	if (!map_put(&store->by_name, film->hash, (uintptr_t)film)) {
		store->films.count--;
		film_entry_free(film);
		return NULL;
	}
	if (film->is_part && !*film->agent && store->pushes < film->number)
		store->pushes = film->number;
	store->bytes += bytes;
	return film;
}

void store_drop(struct store *store, struct store_film *film)
{
	for (size_t i = 0; i < store->films.count; i++) {
		if (store->films.at[i] != film)
			continue;
		store->films.at[i] = *vec_last(&store->films);
		store->films.count--;
		break;
	}
	map_remove(&store->by_name, film->hash);
	vec_foreach (&store->films, other) {
		if ((*other)->hash == film->hash)
			map_put(&store->by_name, film->hash, (uintptr_t)*other);
	}
	store->bytes -= film->bytes;
	film_entry_free(film);
}

int store_drop_gone(struct store *store, struct store_film *film, struct fail *why)
{
	/* one that the bucket has is still known, and can be asked for */
	int err = film->in_bucket ? 0 : index_forget(store->index, film->name, why);

	/* then another time, or answers would miss it for ever */
	if (err)
		return err;
	pthread_mutex_lock(&store->lock);
	store_drop(store, film);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

void store_resize(struct store *store, struct store_film *film)
{
	unsigned int mode = 0;
	uint64_t bytes = folder_bytes(store->path, film->name, &mode);

	store->bytes += bytes - film->bytes;
	film->bytes = bytes;
	film->is_packed = !film->is_part && mode == PACKED_MODE;
	/* the bucket does not have that file */
	film->in_bucket = false;
}

struct store_film **store_list(struct store *store, size_t *count)
{
	struct store_film **list;

	pthread_mutex_lock(&store->lock);
	*count = store->films.count;
	list = malloc((*count ? *count : 1) * sizeof(*list));
	for (size_t i = 0; list && i < *count; i++)
		list[i] = store->films.at[i];
	pthread_mutex_unlock(&store->lock);
	if (!list)
		*count = 0;
	return list;
}

struct scan {
	struct store *store;
	vec(char *) seen; /* sorted names, once the folder was read */
};

static int add_film(void *context, const char *name, uint64_t bytes, unsigned int mode)
{
	struct scan *scan = context;
	char *copy = strdup(name);

	(void)bytes;
	(void)mode;
	if (copy && vec_push(&scan->seen, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Films that someone put there, or that were there at the start. */
static bool add_unknown(struct store *store, const struct scan *scan)
{
	unsigned int mode = 0;
	bool ok = true;

	vec_foreach (&scan->seen, name) {
		uint64_t bytes;

		pthread_mutex_lock(&store->lock);
		bytes = store_find(store, *name) ? 0 : folder_bytes(store->path, *name, &mode);
		if (bytes)
			ok &= store_add(store, *name, bytes, mode) != NULL;
		pthread_mutex_unlock(&store->lock);
	}
	return ok;
}

/* Films that someone removed: those that were there before the folder was read, and not while. */
static int drop_missing(struct store *store, const struct scan *scan, struct store_film **before,
			size_t count, struct fail *why)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		struct store_film *film = before[i];

		if (film->is_growing ||
		    (scan->seen.count && bsearch(&film->name, scan->seen.at, scan->seen.count,
						 sizeof(*scan->seen.at), by_name)))
			continue;
		err = store_drop_gone(store, film, why);
	}
	return err;
}

int store_scan(struct store *store, struct fail *why)
{
	struct scan scan = {.store = store};
	size_t count;
	struct store_film **before = store_list(store, &count);
	int err = before ? folder_each_film(store->path, add_film, &scan) : -ENOMEM;

	if (err)
		fail_errno(why, err, NULL, "cannot read the store %s", store->path);
	if (!err && scan.seen.count)
		qsort(scan.seen.at, scan.seen.count, sizeof(*scan.seen.at), by_name);
	if (!err)
		err = drop_missing(store, &scan, before, count, why);
	if (!err && !add_unknown(store, &scan))
		err = fail_errno(why, -ENOMEM, NULL, "cannot keep the list of films");
	free(before);
	vec_foreach (&scan.seen, name)
		free(*name);
	vec_free(&scan.seen);
	return err;
}

// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/keep.h"
#include "store/fleet/fleet.h"
#include "store/room.h"

/* The folder is read again now and then: someone may have put or removed a film. */
#define SCAN_NS (600 * NS_PER_SECOND)

/* What one store_tick() spends at most on each: the rest is for the next one. */
#define INDEX_BUDGET_NS (8 * NS_PER_SECOND)
#define MERGE_BUDGET_NS (4 * NS_PER_SECOND)

struct fleet *store_fleet(const struct store *store)
{
	return store->fleet;
}

struct index *store_index(struct store *store)
{
	struct index *index;

	pthread_mutex_lock(&store->lock);
	index = index_share(store->index);
	pthread_mutex_unlock(&store->lock);
	return index;
}

int store_note(struct store *store, int err)
{
	pthread_mutex_lock(&store->lock);
	store->is_full = err == -ENOSPC || err == -EDQUOT;
	pthread_mutex_unlock(&store->lock);
	return err;
}

static int cannot_write(const struct store *store, int err, struct fail *why)
{
	const char *to_do =
		err == -EACCES || err == -EPERM
			? "it must belong to the user that runs this: see its owner with ls -ld"
			: NULL;

	return fail_errno(why, err, to_do, "cannot write to the store %s", store->path);
}

static int make_folder(const struct store *store, struct fail *why)
{
	static const char *const folders[] = {"films/", "inbox/", "aside/"};
	int err = 0;

	if (mkdir(store->path, 0700) && errno != EEXIST)
		return fail_errno(why, -errno, "create it, or choose another with --store",
				  "cannot make the store %s", store->path);
	for (size_t i = 0; !err && i < sizeof(folders) / sizeof(folders[0]); i++)
		err = folder_make(store->path, folders[i]);
	return err ? cannot_write(store, err, why) : 0;
}

/* The lock is held until the descriptor is closed, also by kill -9. */
static int lock_folder(struct store *store, struct fail *why)
{
	char path[PATH_MAX];
	int err = store_path_of(store, "lock", path, sizeof(path));

	if (!err) {
		store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		err = store->lock_fd < 0 ? -errno : 0;
	}
	if (err)
		return cannot_write(store, err, why);
	if (!flock(store->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return fail(why, -EBUSY, "end that one first, or choose another folder",
			    "cannot use the store %s: another stackcam uses it", store->path);
	/* a file system without locks: then without */
	return 0;
}

int store_open_index(struct store *store, struct index **index, struct fail *why)
{
	char path[PATH_MAX];
	struct index_options options = {.path = path, .folder = store->path};
	struct identity *identity = NULL;
	int err = store_path_of(store, "index.db", path, sizeof(path));

	if (err)
		return fail_errno(why, err, NULL, "cannot open the store %s", store->path);
	pthread_mutex_lock(&store->lock);
	if (store->identity)
		identity = identity_copy(store->identity);
	pthread_mutex_unlock(&store->lock);
	options.identity = identity;
	err = index_open(&options, index, why);
	if (err == -EBADMSG) {
		/* it is made from the films, and can be made again */
		err = store_set_index_aside(store, path);
		if (err)
			fail_errno(why, err, NULL, "cannot set the damaged index %s aside", path);
		else
			err = index_open(&options, index, why);
		store->set_aside++;
	}
	identity_free(identity);
	return err;
}

/* What the index knows of films that are there, and which it has that are not. */
struct known {
	struct store *store;
	vec(char *) missing;
};

static int add_known(void *context, const struct index_known *known)
{
	struct known *all = context;
	struct store_film *film = store_find(all->store, known->name);
	char *name;

	if (film) {
		film->last = known->last;
		/* one that was cut short may have more than was indexed */
		film->is_indexed = film->is_packed;
		return 0;
	}
	name = strdup(known->name);
	if (name && vec_push(&all->missing, name))
		return 0;
	free(name);
	return -ENOMEM;
}

static int compare_with_index(struct store *store, struct fail *why)
{
	struct known all = {.store = store};
	struct index_object ignored;
	int err = index_each_film(store->index, add_known, &all, why);

	vec_foreach (&all.missing, name) {
		if (!err)
			err = index_bucket_find(store->index, *name, &ignored, why);
		if (err == -ENOENT)
			err = index_forget(store->index, *name, why);
		free(*name);
	}
	vec_free(&all.missing);
	return err ? err : store_recall_bucket(store, why);
}

static struct store *new_store(const struct store_options *options)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	pthread_mutex_init(&store->lock, NULL);
	pthread_mutex_init(&store->shown.lock, NULL);
	pthread_mutex_init(&store->marks_lock, NULL);
	pthread_mutex_init(&store->spans_lock, NULL);
	store->lock_fd = -1;
	store->bytes_max = options->bytes_max;
	store->age_max = options->age_max;
	pthread_mutex_init(&store->cache.fetching, NULL);
	pthread_mutex_init(&store->cache.lock, NULL);
	store->log = options->log;
	store->fetch = options->fetch;
	store->cache_max = options->cache_max;
	store->context = options->context;
	store->path = strdup(options->path);
	if (options->identity)
		store->identity = identity_copy(options->identity);
	if (store->path && (store->identity || !options->identity))
		return store;
	store_free(store);
	return NULL;
}

static int open_fleet(struct store *store, const struct store_options *options, struct fail *why)
{
	const struct fleet_options fleet = {options->sums, options->sums_cluster, options->sums_ca};

	return options->sums ? fleet_new(&fleet, &store->fleet, why) : 0;
}

int store_open(const struct store_options *options, struct store **result, struct fail *why)
{
	struct store *store = new_store(options);
	int err = store ? open_fleet(store, options, why)
			: fail_errno(why, -ENOMEM, NULL, "cannot open the store");

	if (!err)
		err = make_folder(store, why);
	if (!err)
		err = lock_folder(store, why);
	if (!err)
		err = store_find_names(store, why);
	if (!err && (err = store_read_owners(store)))
		fail_errno(why, err, NULL, "cannot read %s/senders", store->path);
	if (!err && (err = store_read_marks(store)))
		fail_errno(why, err, NULL, "cannot read %s/marks", store->path);
	if (!err)
		err = store_open_index(store, &store->index, why);
	if (!err)
		store_keep_clean(store);
	if (!err && (err = store_begin_cache(store)))
		cannot_write(store, err, why);
	if (!err)
		err = store_recover_merge(store, why);
	if (!err)
		err = store_scan(store, why);
	/*
	 * before the index forgets those that are not there, as it knows better of which time they
	 * are
	 */
	if (!err && store_log_aside(store, why))
		*why = (struct fail){0};
	if (!err)
		err = compare_with_index(store, why);
	if (err) {
		store_free(store);
		return err;
	}
	store->next_scan = clock_ns() + SCAN_NS;
	store_look(store);
	*result = store;
	return 0;
}

/* Brings the index of a single film up to date with it: it may be being recorded. */
static int index_single(struct store *store, struct fail *why)
{
	struct film *film;
	struct index_film of = {.name = store->path};
	int err = film_open(store->path, &film, why);

	if (err)
		return err;
	film_look_at_end(film);
	of.host = *film->info.hostname ? film->info.hostname : "film";
	of.is_growing = film->is_open && !film->is_cut_off;
	err = index_add(store->index, &of, film, why);
	if (!err) {
		pthread_mutex_lock(&store->lock);
		store->single_until = store_until_of(film);
		store->single_grows = of.is_growing;
		store->single_is_cut_off = film->is_cut_off;
		pthread_mutex_unlock(&store->lock);
	}
	film_free(film);
	return err;
}

int store_open_film(const char *film, struct store **result, struct fail *why)
{
	char *absolute = realpath(film, NULL);
	struct store_options options = {.path = absolute ? absolute : film};
	struct index_options in_memory = {0};
	struct store *store = new_store(&options);
	int err = store ? index_open(&in_memory, &store->index, why)
			: fail_errno(why, -ENOMEM, NULL, "cannot open the film %s", film);

	free(absolute);
	if (!err) {
		store->is_single = true;
		err = index_single(store, why);
	}
	if (err) {
		store_free(store);
		return err;
	}
	store_look(store);
	*result = store;
	return 0;
}

int store_films_path(const struct store *store, bool *is_film, char *to, size_t size)
{
	*is_film = store->is_single;
	if (!store->is_single)
		return store_path_of(store, "films", to, size);
	return (size_t)snprintf(to, size, "%s", store->path) < size ? 0 : -ENAMETOOLONG;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	index_free(store->index);
	while (store->films.count)
		store_drop(store, *vec_last(&store->films));
	vec_free(&store->films);
	map_free(&store->by_name);
	map_free(&store->owners);
	vec_free(&store->agents);
	identity_free(store->identity);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	store_free_marks(store);
	store_free_cache(store);
	spans_db_free(store->spans);
	build_names_free(store->names);
	pthread_mutex_destroy(&store->spans_lock);
	pthread_mutex_destroy(&store->marks_lock);
	pthread_mutex_destroy(&store->shown.lock);
	pthread_mutex_destroy(&store->lock);
	fleet_free(store->fleet);
	free(store->path);
	free(store);
}

int store_configure(struct store *store, const struct store_options *options, struct fail *why)
{
	struct identity *copy = options->identity ? identity_copy(options->identity) : NULL, *old;
	struct index *index;
	int err;

	if (options->identity && !copy)
		return fail_errno(why, -ENOMEM, NULL, "cannot keep the configuration");
	index = store_index(store);
	err = index_configure(index, copy, why);
	index_free(index);
	if (err) {
		identity_free(copy);
		return err;
	}
	pthread_mutex_lock(&store->lock);
	old = store->identity;
	store->identity = copy;
	store->bytes_max = options->bytes_max;
	store->age_max = options->age_max;
	pthread_mutex_unlock(&store->lock);
	identity_free(old);
	return 0;
}

/* With the lock held. */
static int choose_path(struct store *store, const char *folder, uint64_t time, char *to,
		       size_t size)
{
	char name[FOLDER_NAME_MAX];
	struct store_film *film;
	unsigned int number = 0;
	int err;

	do {
		folder_film_name(name, sizeof(name), folder, time, ++number);
		err = store_path_of(store, name, to, size);
		if (err)
			return err;
		/* without the index, too: of this hour the bucket has no film yet */
	} while (store_has_name(store, name, NULL) > 0 || !access(to, F_OK));
	err = folder_make(store->path, name);
	if (err)
		return err;
	film = store_add(store, name, 0, 0);
	if (!film)
		return -ENOMEM;
	film->is_growing = true;
	/*
	 * the index has all of the hour until it begins; by a second, as a sample may have waited
	 * for the film before
	 */
	if (time - film->start > NS_PER_SECOND)
		film->start = time - NS_PER_SECOND;
	return 0;
}

int store_known_path(struct store *store, const char *host, uint64_t time, char *events, char *to,
		     size_t size, struct fail *why)
{
	char folder[FOLDER_HOST_MAX + 1];
	int err;

	if (store->is_single)
		err = fail(why, -EROFS, NULL, "nothing is recorded here: one film is shown");
	else
		err = folder_of_host(host, folder, why);
	if (err) {
		free(events);
		return err;
	}
	pthread_mutex_lock(&store->lock);
	store->own = hash_bytes(host, strlen(host));
	err = choose_path(store, folder, time, to, size);
	if (!err)
		(*vec_last(&store->films))->events = events;
	pthread_mutex_unlock(&store->lock);
	if (!err)
		return 0;
	free(events);
	return fail_errno(why, store_note(store, err), NULL, "cannot begin a film in %s",
			  store->path);
}

int store_film_path(struct store *store, const char *host, uint64_t time, char *to, size_t size,
		    struct fail *why)
{
	return store_known_path(store, host, time, NULL, to, size, why);
}

/* The first error counts, and keeps from nothing else. */
static void add_failure(struct fail *first, int err, const struct fail *failed)
{
	if (!err || first->err)
		return;
	*first = *failed;
	first->err = err;
}

int store_tick(struct store *store, uint64_t now, struct fail *why)
{
	struct fail first = {0}, failed = {0};
	int err;

	if (store->is_single) {
		err = index_single(store, why);
		store_look(store);
		return err;
	}
	/* nothing works without */
	if (index_is_retired(store->index)) {
		err = store_clean_index(store, why);
		if (err)
			return store_note(store, err);
	}
	if (!store->is_aside_logged)
		add_failure(&first, store_log_aside(store, &failed), &failed);
	if (clock_ns() >= store->next_scan) {
		store->next_scan = clock_ns() + SCAN_NS;
		add_failure(&first, store_scan(store, &failed), &failed);
	}
	/* one that could not be carried out, for lack of room, say */
	err = store_recover_merge(store, &failed);
	add_failure(&first, err, &failed);
	add_failure(&first, store_index_films(store, clock_ns() + INDEX_BUDGET_NS, true, &failed),
		    &failed);
	if (!err)
		add_failure(&first,
			    store_merge_films(store, now, clock_ns() + MERGE_BUDGET_NS, &failed),
			    &failed);
	add_failure(&first, store_note_uploads(store, &failed), &failed);
	add_failure(&first, store_remove_old(store, now, &failed), &failed);
	add_failure(&first, store_remove_marks(store, &failed), &failed);
	add_failure(&first, store_remove_spans(store, now, &failed), &failed);
	store_remove_aside(store);
	add_failure(&first, index_compact(store->index, now, &failed), &failed);
	add_failure(&first, store_clean_index(store, &failed), &failed);
	store_look(store);
	store_note(store, first.err);
	if (first.err)
		*why = first;
	return first.err;
}

int store_follow(struct store *store, struct fail *why)
{
	int err;

	if (store->is_single || index_is_retired(store->index))
		return 0;
	err = store_index_films(store, clock_ns() + INDEX_BUDGET_NS, false, why);
	if (!err)
		err = store_note_uploads(store, why);
	store_look(store);
	return store_note(store, err);
}

// SPDX-License-Identifier: Apache-2.0
/* Films that are new, or have grown, get into the index. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/room.h"

/* A film that is not there yet at that look never will be. */
#define LOOKS_FOR_FIRST 12

/*
 * To look at a growing film takes one LOOK_PART-th of the time of a CPU. On a machine that meets
 * new programs all the time that would leave the index minutes behind: then it takes more, so that
 * it is not more than LOOK_MOST_NS.
 */
#define LOOK_PART    200
#define LOOK_LEAST   40
#define LOOK_MOST_NS (2 * NS_PER_SECOND)
/*
 * What was found is as late as that: names were waited for, and more may come soon. Else
 * there is no hurry.
 */
#define LATE_NS	    (2 * NS_PER_SECOND)
#define NO_HURRY_NS (4 * NS_PER_SECOND)

uint64_t store_kin_of(const struct film_info *info)
{
	uint64_t kin = hash_bytes(info->hostname, strlen(info->hostname));

	kin = hash_u64(kin ^ hash_bytes(info->arch, strlen(info->arch)));
	kin = hash_u64(kin ^ hash_bytes(info->labels, strlen(info->labels)));
	return kin ? kin : 1;
}

uint64_t store_until_of(const struct film *film)
{
	int64_t until;

	if (!film->is_open || film->is_cut_off)
		return UINT64_MAX;
	if (__builtin_add_overflow(film_settled_until(film), film->info.wall_offset, &until))
		return 0;
	return until < 0 ? 0 : (uint64_t)until;
}

static bool event_list_has(const char *events, const char *name)
{
	while (*events && strcmp(events, name) != 0)
		events += strlen(events) + 1;
	return *events != 0;
}

/* Where a film ends at the latest; 0: that is not known. What is sent may reach over its hour. */
static uint64_t end_of(const struct store_film *film)
{
	if (film->last || film->is_part)
		return film->last;
	return film->start + 2 * NS_PER_HOUR;
}

/* Of a film that the index has not all of: whether it may have something of what is meant. */
static bool may_add_to(const struct store_film *film, const struct store_span *span)
{
	const uint64_t end = film->is_growing ? 0 : end_of(film);

	/* readers of films know those that grow, and those that were looked at once */
	if ((span->is_read && (film->last || film->is_growing)) || film->start >= span->to ||
	    (end && end < span->from) || (span->host && strcmp(span->host, film->host) != 0))
		return false;
	return !film->events || (span->event && event_list_has(film->events, span->event));
}

uint64_t store_complete_of(const struct store *store, const struct store_span *span)
{
	uint64_t until = span->to;

	if (store->is_single && !span->is_read && store->single_until < until)
		until = store->single_until;
	vec_foreach (&store->films, at) {
		const struct store_film *film = *at;
		uint64_t has = film->until > film->start ? film->until : film->start;

		if (!film->is_indexed && film->until != UINT64_MAX && has < until &&
		    may_add_to(film, span))
			until = has;
	}
	return until < span->from ? span->from : until;
}

uint64_t store_complete_until(struct store *store, const struct store_span *span)
{
	uint64_t until;

	pthread_mutex_lock(&store->lock);
	until = store_complete_of(store, span);
	pthread_mutex_unlock(&store->lock);
	return until;
}

int store_each_growing(struct store *store, uint64_t before,
		       int (*emit)(void *context, const struct store_growing *film), void *context)
{
	int err = 0;

	pthread_mutex_lock(&store->lock);
	for (size_t i = 0; !err && i < store->films.count; i++) {
		const struct store_film *film = store->films.at[i];

		if (film->is_growing && film->start < before)
			err = emit(context,
				   &(struct store_growing){film->name, film->host, film->start});
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

/* After a way back to an earlier stackcam: those of the later one wait for it. */
static void leave_later(struct store *store, struct store_film *film, struct fail *why)
{
	store_say(store, "%s; it stays where it is, and is not read", why->what);
	*why = (struct fail){0};
	pthread_mutex_lock(&store->lock);
	film->is_later = film->is_refused = film->is_indexed = true;
	film->until = UINT64_MAX;
	pthread_mutex_unlock(&store->lock);
}

uint32_t store_count_later(struct store *store, const char *host, uint64_t from, uint64_t to)
{
	uint32_t count = 0;

	pthread_mutex_lock(&store->lock);
	vec_foreach (&store->films, film)
		count += (*film)->is_later && (*film)->start < to &&
			 (*film)->start + NS_PER_HOUR > from &&
			 (!host || !strcmp(host, (*film)->host));
	pthread_mutex_unlock(&store->lock);
	return count;
}

static int cannot_open(struct store *store, struct store_film *film, int err, struct fail *why)
{
	switch (-err) {
	case ENOENT:
		/* the recorder was given its name, and has not begun it yet */
		return film->is_growing && ++film->absent < LOOKS_FOR_FIRST
			       ? 0
			       : store_drop_gone(store, film, why);
	case EBADMSG:
		/* before its first commit it is none yet */
		if (film->is_growing)
			return 0;
		return store_set_aside(store, film, why);
	case EPROTONOSUPPORT:
		leave_later(store, film, why);
		return 0;
	default:
		return err;
	}
}

/* What the index says to be damaged may be the film, or the index itself. */
static int cannot_add(struct store *store, struct store_film *film, const char *path, int err,
		      struct fail *why)
{
	if (err != -EBADMSG)
		return err;
	if (store_check_film(path, NULL) == -EBADMSG)
		return store_set_aside(store, film, why);
	err = store_renew_index(store, why);
	return err ? err : -EAGAIN;
}

/* used: ns of a CPU that a look at a growing film took, which has all until then. */
static uint64_t look_pause(uint64_t used, uint64_t until)
{
	uint64_t pause = clock_pause(used, LOOK_PART, LOOK_MOST_NS, LOOK_LEAST);
	bool is_late = until < clock_wall() - LATE_NS;

	return is_late || pause > NO_HURRY_NS ? pause : NO_HURRY_NS;
}

static void drop_open(struct store_film *film, struct film *open)
{
	film_free(open);
	index_builds_free(&film->builds);
}

void store_unfollow(struct store_film *film)
{
	drop_open(film, film->followed);
	film->followed = NULL;
}

/* A growing film is read once, and then what came since. */
static int open_film(struct store_film *film, const char *path, struct film **open,
		     struct fail *why)
{
	*open = film->followed;
	film->followed = NULL;
	if (*open && !film_catch_up(*open, why))
		return 0;
	drop_open(film, *open);
	return film->is_growing ? film_follow(path, open, why) : film_open(path, open, why);
}

/*
 * The index has what an open film had when it was opened. Whether more will come its own words say:
 * its recorder writes them with its last samples.
 */
static void note_indexed(struct store *store, struct store_film *film, const struct film *open,
			 bool grows)
{
	pthread_mutex_lock(&store->lock);
	film->kin = store_kin_of(&open->info);
	film->tables = film_tables_of(open);
	film->last = open->info.end + (uint64_t)open->info.wall_offset;
	film->is_indexed = !grows;
	film->until = grows ? store_until_of(open) : UINT64_MAX;
	store_resize(store, film);
	pthread_mutex_unlock(&store->lock);
}

static int index_film(struct store *store, struct store_film *film, struct fail *why)
{
	struct store_sender sender = {film->host, film->agent, film->number};
	struct index_film of = {film->name, film->host, film->is_part ? &sender : NULL, false,
				&film->builds};
	char path[PATH_MAX];
	struct film *open;
	uint64_t begin, used = clock_thread_ns();
	int err = store_path_of(store, film->name, path, sizeof(path));

	if (err)
		return fail_errno(why, err, NULL, "cannot read %s", film->name);
	begin = clock_ns();
	err = open_film(film, path, &open, why);
	if (err)
		return cannot_open(store, film, err, why);
	of.is_growing = film->is_growing && open->is_open;
	err = index_add(store->index, &of, open, why);
	if (!err)
		note_indexed(store, film, open, of.is_growing);
	if (of.is_growing && !err)
		film->followed = open;
	else
		drop_open(film, open);
	film->again = of.is_growing ? begin + look_pause(clock_thread_ns() - used, film->until) : 0;
	return err ? cannot_add(store, film, path, err, why) : 0;
}

void store_film_done(struct store *store, const char *path)
{
	size_t length = strlen(store->path);
	struct store_film *film = NULL;

	pthread_mutex_lock(&store->lock);
	if (!strncmp(path, store->path, length) && path[length] == '/')
		film = store_find(store, path + length + 1);
	if (film)
		film->is_done = true;
	pthread_mutex_unlock(&store->lock);
}

/* Films that their recorder has closed are as all others from now on. */
static void set_done(struct store *store, struct store_film *film)
{
	pthread_mutex_lock(&store->lock);
	film->has_side_files = film->is_growing && film->is_done;
	film->is_growing = film->is_growing && !film->is_done;
	pthread_mutex_unlock(&store->lock);
	if (!film->is_growing)
		store_unfollow(film);
}

/* Readers may have been in the recorder's way. */
static void tidy(struct store *store, struct store_film *film)
{
	char path[PATH_MAX];

	if (!store_path_of(store, film->name, path, sizeof(path)))
		film->has_side_files = folder_has_wal(path) && film_make_single(path) == -EBUSY;
}

/* What is being recorded first, then the newest. */
static int by_interest(const void *a, const void *b)
{
	const struct store_film *x = *(struct store_film *const *)a;
	const struct store_film *y = *(struct store_film *const *)b;

	if (x->is_growing != y->is_growing)
		return x->is_growing ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	/* an agent's films in the order of their numbers */
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Those that there may be something to do for come first. Returns how many. */
static size_t keep_due(struct store_film **films, size_t count, bool is_tick)
{
	size_t due = 0;

	for (size_t i = 0; i < count; i++)
		if (films[i]->is_growing || !films[i]->is_indexed ||
		    (is_tick && films[i]->has_side_files))
			films[due++] = films[i];
	return due;
}

int store_index_films(struct store *store, uint64_t deadline, bool is_tick, struct fail *why)
{
	size_t count;
	struct store_film **films = store_list(store, &count);
	struct fail first = {0};
	int err = 0;

	if (!films)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at the films");
	count = keep_due(films, count, is_tick);
	qsort(films, count, sizeof(*films), by_interest);
	for (size_t i = 0; i < count && clock_ns() < deadline; i++) {
		struct fail failed = {0};

		if (films[i]->is_growing)
			set_done(store, films[i]);
		if (is_tick && films[i]->has_side_files)
			tidy(store, films[i]);
		if (films[i]->is_indexed || (films[i]->is_growing && clock_ns() < films[i]->again))
			continue;
		err = index_film(store, films[i], &failed);
		if (err && !first.err) {
			first = failed;
			first.err = err;
		}
		/* others would fail, too; or the index was made anew, and knows none of them */
		if (err == -ENOSPC || err == -ENOMEM || err == -EAGAIN)
			break;
	}
	free(films);
	if (first.err == -EAGAIN)
		return 0;
	if (first.err)
		*why = first;
	return first.err;
}

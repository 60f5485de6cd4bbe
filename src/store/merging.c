// SPDX-License-Identifier: Apache-2.0
/*
 * Films become one: those that a host has sent, when there are enough of them, one film of their
 * hour; all films of an hour that is over, one film in large blocks, or a few where they have much.
 * How that survives a crash is in merge_steps.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "store/merge_steps.h"
#include "store/room.h"

/*
 * What was sent becomes a film of its hour when there are PARTS_MANY, or when they have waited
 * PART_OLD_NS.
 */
#define PARTS_MANY  30
#define PARTS_MAX   200
#define PART_OLD_NS (600 * NS_PER_SECOND)
/*
 * Films become one only as long as their tables take no more than that many bytes of memory
 * together: a merge takes several times as much. Those of an hour that have more become several.
 */
#define TABLES_MAX (6u << 20)
/* An hour is over when none of its films came for this long. */
#define SETTLED_NS (120 * NS_PER_SECOND)

/* What is to become one at this tick. */
struct batch {
	struct merge_job jobs[MERGE_JOBS_MAX];
	size_t count, most;
	uint64_t tables; /* of all of them */
};

/* One of the films does not go together with the others. */
static int cannot_merge(struct store *store, struct store_film *film, int err, struct fail *why)
{
	switch (-err) {
	case EBADMSG:
		return store_set_aside(store, film, why);
	case ENOENT:
		store->next_scan = 0;
		return 0;
	default:
		film->is_refused = true;
		return 0;
	}
}

/* Films that may become one lie side by side. */
static int by_group(const void *a, const void *b)
{
	const struct store_film *x = *(struct store_film *const *)a;
	const struct store_film *y = *(struct store_film *const *)b;
	uint64_t x_hour = x->start / NS_PER_HOUR, y_hour = y->start / NS_PER_HOUR;
	int order = strcmp(x->host, y->host);

	if (order)
		return order;
	if (x_hour != y_hour)
		return x_hour < y_hour ? -1 : 1;
	if (x->kin != y->kin)
		return x->kin < y->kin ? -1 : 1;
	if (x->is_part != y->is_part)
		return x->is_part ? 1 : -1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	order = (int)strlen(x->name) - (int)strlen(y->name);
	return order ? order : strcmp(x->name, y->name);
}

static bool same_group(const struct store_film *x, const struct store_film *y)
{
	return x->start / NS_PER_HOUR == y->start / NS_PER_HOUR && x->kin == y->kin &&
	       !strcmp(x->host, y->host);
}

static bool is_ready(const struct store_film *film)
{
	return film->is_indexed && !film->is_refused && !film->is_growing && film->kin;
}

/* A name for another film of the hour, with its folder made. */
static int free_name(struct store *store, const struct store_film *like, char *name, size_t size,
		     struct fail *why)
{
	char folder[FOLDER_HOST_MAX + 1], path[PATH_MAX];
	int err = folder_of_host(like->host, folder, why);

	for (unsigned int n = 1; !err; n++) {
		int has;

		folder_film_name(name, size, folder, like->start, n);
		err = store_path_of(store, name, path, sizeof(path));
		if (err)
			return fail_errno(why, err, NULL, "cannot merge films of the store");
		pthread_mutex_lock(&store->lock);
		has = store_has_name(store, name, why);
		pthread_mutex_unlock(&store->lock);
		/* not known: a film of this name would replace another one in the bucket */
		if (has < 0)
			return has;
		if (!has && access(path, F_OK))
			break;
	}
	return err;
}

/* Of one that was indexed before this start. 1: it is set aside or refused, and may be gone. */
static int learn_tables(struct store *store, struct store_film *film, struct fail *why)
{
	char path[PATH_MAX];
	struct film *open;
	int err;

	if (film->tables)
		return 0;
	err = store_path_of(store, film->name, path, sizeof(path));
	if (err)
		return fail_errno(why, err, NULL, "cannot merge films of the store");
	err = film_open(path, &open, why);
	/* a lack that passes is not the film's fault: another time */
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	if (err) {
		err = cannot_merge(store, film, err, why);
		return err ? err : 1;
	}
	film->tables = film_tables_of(open);
	film_free(open);
	return 0;
}

/*
 * How many of them, from the first on, may become one: at least one; *tables: what theirs have
 * together. 0: none this time, and *err says why, if it is an error.
 */
static size_t count_fitting(struct store *store, struct store_film *const *films, size_t count,
			    uint64_t *tables, int *err, struct fail *why)
{
	size_t n = 0;

	*tables = 0;
	for (; n < count; n++) {
		*err = learn_tables(store, films[n], why);
		if (*err) {
			*err = *err < 0 ? *err : 0;
			return 0;
		}
		if (n && *tables + films[n]->tables > TABLES_MAX)
			break;
		*tables += films[n]->tables;
	}
	return n;
}

/* -- what is done at once ---------------------------------------------------------------------- */

static int finish_job(struct store *store, struct merge_job *job, struct fail *why)
{
	struct merge_written *written = &job->written;

	if (!written->err)
		return store_merge_finish(job, why);
	store_merge_forget(job);
	*why = written->why;
	return written->bad < job->count
		       ? cannot_merge(store, job->films[written->bad], written->err, why)
		       : store_note(store, written->err);
}

static int run_batch(struct store *store, struct batch *batch, struct fail *why)
{
	int err = 0;

	store_merge_write(batch->jobs, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		if (err)
			store_merge_forget(&batch->jobs[i]);
		else
			err = finish_job(store, &batch->jobs[i], why);
	batch->count = 0;
	batch->tables = 0;
	return err;
}

/* Two that lie in one hour of a host might get one name: it is free until one of them has it. */
static bool is_of_last(const struct batch *batch, const struct store_film *film)
{
	const struct store_film *last;

	if (!batch->count)
		return false;
	last = batch->jobs[batch->count - 1].films[0];
	return last->start / NS_PER_HOUR == film->start / NS_PER_HOUR &&
	       !strcmp(last->host, film->host);
}

/*
 * Room for a job on films with such tables: what is there is done first if it is of the same hour,
 * or if all together would need too much memory. Null: *err.
 */
static struct merge_job *next_job(struct store *store, struct batch *batch,
				  struct store_film *const *films, size_t count, uint64_t tables,
				  int *err, struct fail *why)
{
	struct merge_job *job;

	*err = 0;
	if (batch->count == batch->most || is_of_last(batch, films[0]) ||
	    (batch->count && batch->tables + tables > TABLES_MAX))
		*err = run_batch(store, batch, why);
	if (*err)
		return NULL;
	job = &batch->jobs[batch->count];
	*job = (struct merge_job){.store = store, .films = films, .count = count};
	batch->tables += tables;
	return job;
}

/* What was sent becomes a film of its hour. */
static int merge_parts(struct store *store, struct batch *batch, struct store_film *const *parts,
		       size_t count, bool over, struct fail *why)
{
	uint64_t now = clock_ns(), oldest = UINT64_MAX, newest = 0, tables;
	struct merge_job *job;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i]->came < oldest)
			oldest = parts[i]->came;
		if (parts[i]->came > newest)
			newest = parts[i]->came;
	}
	if (count < PARTS_MANY && now - oldest < PART_OLD_NS &&
	    !(over && now - newest > SETTLED_NS))
		return 0;
	if (count > PARTS_MAX)
		count = PARTS_MAX;
	count = count_fitting(store, parts, count, &tables, &err, why);
	if (!count)
		return err;
	job = next_job(store, batch, parts, count, tables, &err, why);
	if (!err)
		err = free_name(store, parts[0], job->into, sizeof(job->into), why);
	batch->count += !err;
	return err;
}

/*
 * The films of one hour that may become one: first those that are in their place, then what was
 * sent.
 */
static int merge_group(struct store *store, struct batch *batch, struct store_film *const *films,
		       size_t count, uint64_t now, struct fail *why)
{
	uint64_t end = (films[0]->start / NS_PER_HOUR + 1) * NS_PER_HOUR, tables;
	bool over = now > end + SETTLED_NS;
	size_t hours = 0, from, n;
	struct merge_job *job;
	int err = 0;

	while (hours < count && !films[hours]->is_part)
		hours++;
	if (hours < count)
		return merge_parts(store, batch, films + hours, count - hours, over, why);
	for (from = 0; over && from < count; from += n) {
		n = count_fitting(store, films + from, count - from, &tables, &err, why);
		if (!n)
			return err;
		/* the rest at the next tick: a merge makes and drops films */
		if (n == 1 && films[from]->is_packed)
			continue;
		job = next_job(store, batch, films + from, n, tables, &err, why);
		if (err)
			return err;
		snprintf(job->into, sizeof(job->into), "%s", films[from]->name);
		job->pack = true;
		batch->count++;
		return 0;
	}
	return 0;
}

static uint64_t hour_of(const struct store_film *film)
{
	return hash_u64(film->start / NS_PER_HOUR) ^ hash_bytes(film->host, strlen(film->host));
}

/*
 * A host's films of an hour are looked at only while one of them is not packed: in a store of a
 * million films, few are. Moves them to the front and returns how many there are. Two hours may
 * have one number: then films of both are looked at.
 */
static size_t keep_open_hours(struct store_film **films, size_t count)
{
	struct map open = {0};
	bool has_memory = true;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!films[i]->is_packed)
			has_memory &= map_put(&open, hour_of(films[i]), 1);
	for (size_t i = 0; i < count && (open.count || !has_memory); i++)
		if (!has_memory || map_get(&open, hour_of(films[i])))
			films[kept++] = films[i];
	map_free(&open);
	return kept;
}

/* A packed film is opened only when there is something of its hour that may have to join it. */
static void learn_kin(struct store *store, struct store_film **films, size_t count)
{
	char path[PATH_MAX];
	struct film *open;

	for (size_t i = 0; i < count; i++) {
		struct store_film *film = films[i];

		if (film->kin || !film->is_packed || film->is_refused ||
		    store_path_of(store, film->name, path, sizeof(path)))
			continue;
		if (film_open_info(path, &open, NULL)) {
			/* what is wrong with it shows when the whole film is read */
			film->is_indexed = false;
			continue;
		}
		film->kin = store_kin_of(&open->info);
		film_free(open);
	}
}

int store_merge_films(struct store *store, uint64_t now, uint64_t deadline, struct fail *why)
{
	struct batch batch = {.most = cpus_usable(MERGE_JOBS_MAX)};
	size_t all, count = 0, from, n;
	struct store_film **films = store_list(store, &all);
	int err = 0;

	if (!films)
		return fail_errno(why, -ENOMEM, NULL, "cannot look at the films");
	all = keep_open_hours(films, all);
	learn_kin(store, films, all);
	for (from = 0; from < all; from++) {
		if (is_ready(films[from]))
			films[count++] = films[from];
	}
	qsort(films, count, sizeof(*films), by_group);
	for (from = 0; !err && from < count && clock_ns() < deadline; from += n) {
		for (n = 1; from + n < count && same_group(films[from], films[from + n]); n++)
			;
		err = merge_group(store, &batch, films + from, n, now, why);
	}
	if (!err)
		err = run_batch(store, &batch, why);
	free(films);
	return err;
}

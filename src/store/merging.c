// SPDX-License-Identifier: Apache-2.0
/*
 * Films become one: those that a host has sent, when there are enough of them, one film of their
 * hour; all films of an hour that is over, one film in large blocks, or a few where they have much.
 *
 * The steps, each on the disk before the next one:
 *
 *	1. merge.film is written, with all that it is to hold
 *	2. the index hears which films it stands for
 *	3. merge.list says the same: from now on it will happen, even after a crash
 *	4. merge.film takes the place of the first of them, the index hears that, the others are
 *	   removed
 *	5. merge.list is removed
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/database.h"
#include "base/file.h"
#include "base/map.h"
#include "film/merge.h"
#include "store/room.h"

#define MERGE_FILM "merge.film"
#define MERGE_LIST "merge.list"
#define MERGE_END  "end"

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

/* The film that others become, and those, from merge.list. */
struct merge {
	char *into;
	vec(char *) parts; /* without into */
	bool is_complete;  /* the list has its end */
};

static void merge_free(struct merge *merge)
{
	free(merge->into);
	vec_foreach (&merge->parts, part)
		free(*part);
	vec_free(&merge->parts);
}

static int write_file(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = file_write_all(fd, text, size);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int write_list(const struct store *store, const struct merge *merge)
{
	char path[PATH_MAX];
	struct buf text = {0};
	int err = store_path_of(store, MERGE_LIST, path, sizeof(path));

	buf_printf(&text, "%s\n", merge->into);
	vec_foreach (&merge->parts, part)
		buf_printf(&text, "%s\n", *part);
	buf_put_text(&text, MERGE_END "\n");
	if (!err)
		err = text.failed ? -ENOMEM : write_file(path, (const char *)text.at, text.count);
	if (!err)
		err = folder_sync_names(path);
	if (err)
		unlink(path);
	buf_free(&text);
	return err;
}

static bool parse_line(struct merge *merge, const char *line)
{
	struct folder_name parsed;
	char *copy;

	if (!strcmp(line, MERGE_END)) {
		merge->is_complete = true;
		return true;
	}
	if (merge->is_complete || !folder_parse(line, &parsed))
		return false;
	copy = strdup(line);
	if (!copy)
		return false;
	if (!merge->into) {
		merge->into = copy;
		return true;
	}
	if (vec_push(&merge->parts, copy))
		return true;
	free(copy);
	return false;
}

/* -ENOENT: there is none. A list that was not finished is one that was not begun. */
static int read_list(const struct store *store, struct merge *merge)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	bool ok = true;
	FILE *list;
	int err = store_path_of(store, MERGE_LIST, path, sizeof(path));

	if (err)
		return err;
	list = fopen(path, "re");
	if (!list)
		return -errno;
	while (ok && getline(&line, &room, list) > 0) {
		line[strcspn(line, "\n")] = 0;
		ok = parse_line(merge, line);
	}
	free(line);
	fclose(list);
	return ok && merge->is_complete && merge->into ? 0 : -EBADMSG;
}

/* Of its hour, and no part of the film that it is in now. */
static void enter(struct store *store, const struct merge *merge, const struct film *film)
{
	struct store_film *into, *gone;

	pthread_mutex_lock(&store->lock);
	into = store_find(store, merge->into);
	if (!into)
		into = store_add(store, merge->into, 0, 0);
	vec_foreach (&merge->parts, part) {
		gone = store_find(store, *part);
		if (!gone)
			continue;
		if (into)
			into->kin = gone->kin;
		store_drop(store, gone);
	}
	if (into) {
		into->tables = film_tables_of(film);
		into->is_indexed = true;
		into->last = film->info.end + (uint64_t)film->info.wall_offset;
		store_resize(store, into);
	}
	pthread_mutex_unlock(&store->lock);
}

/* merge.film goes to its place, if it did not before. */
static int put_in_place(struct store *store, const char *into)
{
	char from[PATH_MAX], to[PATH_MAX];
	int err = store_path_of(store, MERGE_FILM, from, sizeof(from));

	if (!err)
		err = store_path_of(store, into, to, sizeof(to));
	if (!err)
		err = folder_make(store->path, into);
	if (err || access(from, F_OK))
		return err;
	/* they would be taken for those of the new film */
	err = database_remove_side_files(to);
	if (!err && rename(from, to))
		err = -errno;
	if (!err)
		err = folder_sync_names(to);
	return err;
}

/* Step 4, for the first time or again. */
static int carry_out(struct store *store, const struct merge *merge, struct fail *why)
{
	char path[PATH_MAX];
	struct film *film = NULL;
	int err = put_in_place(store, merge->into);

	if (!err)
		err = store_path_of(store, merge->into, path, sizeof(path));
	if (err)
		return fail_errno(why, err, NULL, "cannot merge films of the store");
	err = film_open(path, &film, why);
	if (!err)
		err = index_merge_end(store->index, merge->into, film, why);
	/* the index was made anew, or had heard that before */
	if (err == -ENOENT)
		err = 0;
	vec_foreach (&merge->parts, part) {
		if (!err && folder_remove(store->path, *part))
			err = fail_errno(why, -errno, NULL, "cannot remove %s", *part);
	}
	if (!err)
		enter(store, merge, film);
	film_free(film);
	return err;
}

static int finish(struct store *store, const struct merge *merge, struct fail *why)
{
	char path[PATH_MAX];
	int err;

	index_files_change(store->index);
	err = carry_out(store, merge, why);
	index_files_changed(store->index);
	if (err)
		return err;
	store_path_of(store, MERGE_LIST, path, sizeof(path));
	if (unlink(path) || folder_sync_names(path))
		return fail_errno(why, -errno, NULL, "cannot remove %s", path);
	return 0;
}

static int drop_one(void *context, const char *into, uint64_t inode)
{
	char **name = context;

	(void)inode;
	*name = strdup(into);
	return *name ? 1 : -ENOMEM;
}

/* Merges that the index heard of, and that were given up before step 3. */
static int drop_begun(struct store *store, struct fail *why)
{
	char *name = NULL;
	int err;

	while ((err = index_each_merge(store->index, drop_one, &name, why)) == 1) {
		err = index_merge_drop(store->index, name, why);
		free(name);
		if (err)
			return err;
	}
	return err;
}

int store_recover_merge(struct store *store, struct fail *why)
{
	struct merge merge = {0};
	char path[PATH_MAX];
	int err = read_list(store, &merge);

	if (!err) {
		err = finish(store, &merge, why);
		/* then it is a film like any other that cannot be read */
		if (err == -EBADMSG && !store_path_of(store, MERGE_LIST, path, sizeof(path)))
			unlink(path);
	} else if (err == -ENOENT || err == -EBADMSG) {
		store_path_of(store, MERGE_FILM, path, sizeof(path));
		unlink(path);
		database_remove_side_files(path);
		store_path_of(store, MERGE_LIST, path, sizeof(path));
		unlink(path);
		err = drop_begun(store, why);
	} else {
		fail_errno(why, err, NULL, "cannot read %s/%s", store->path, MERGE_LIST);
	}
	merge_free(&merge);
	return err;
}

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

/* It is on the disk, and its mode says whether it is packed. */
static int settle_film(const char *path, bool pack, uint64_t *inode)
{
	struct stat st;

	if ((pack && chmod(path, 0400)) || stat(path, &st))
		return -errno;
	*inode = st.st_ino;
	return folder_sync(path);
}

/* Step 1. *bad is the index of the film that cannot be merged, if one is the reason. */
static int write_film(struct store *store, struct store_film *const *films, size_t count, bool pack,
		      uint64_t *inode, size_t *bad, struct fail *why)
{
	char to[PATH_MAX], (*paths)[PATH_MAX] = malloc(count * sizeof(*paths));
	const char **list = calloc(count, sizeof(*list));
	int err = paths && list ? store_path_of(store, MERGE_FILM, to, sizeof(to)) : -ENOMEM;

	*bad = count;
	for (size_t i = 0; !err && i < count; i++) {
		list[i] = paths[i];
		err = store_path_of(store, films[i]->name, paths[i], sizeof(paths[i]));
	}
	if (err)
		fail_errno(why, err, NULL, "cannot merge films of the store");
	else
		err = film_merge_files(list, count, to, bad, why);
	if (!err) {
		err = settle_film(to, pack, inode);
		if (err)
			fail_errno(why, err, NULL, "cannot write %s", to);
	}
	free(paths);
	free(list);
	return err;
}

static int describe(struct merge *merge, const char *into, struct store_film *const *films,
		    size_t count)
{
	merge->into = strdup(into);
	if (!merge->into)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		char *part = strcmp(films[i]->name, into) ? strdup(films[i]->name) : NULL;

		if (!part && strcmp(films[i]->name, into))
			return -ENOMEM;
		if (part && !vec_push(&merge->parts, part)) {
			free(part);
			return -ENOMEM;
		}
	}
	return 0;
}

static int merge_films(struct store *store, const char *into, struct store_film *const *films,
		       size_t count, bool pack, struct fail *why)
{
	struct index_film of = {into, films[0]->host, NULL};
	struct merge merge = {0};
	struct fail cannot = {0};
	uint64_t inode = 0;
	size_t bad;
	int err = write_film(store, films, count, pack, &inode, &bad, &cannot);

	if (err) {
		*why = cannot;
		return bad < count ? cannot_merge(store, films[bad], err, why)
				   : store_note(store, err);
	}
	if (describe(&merge, into, films, count))
		err = fail_errno(why, -ENOMEM, NULL, "cannot merge films of the store");
	if (!err)
		err = index_merge_begin(store->index, &of, inode,
					(const char *const *)merge.parts.at, merge.parts.count,
					why);
	if (!err) {
		err = write_list(store, &merge);
		if (err)
			fail_errno(why, err, NULL, "cannot merge films of the store");
	}
	if (!err)
		err = finish(store, &merge, why);
	merge_free(&merge);
	return store_note(store, err);
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
 * How many of them, from the first on, may become one: at least one. 0: none this time, and *err
 * says why, if it is an error.
 */
static size_t count_fitting(struct store *store, struct store_film *const *films, size_t count,
			    int *err, struct fail *why)
{
	uint64_t tables = 0;
	size_t n = 0;

	for (; n < count; n++) {
		*err = learn_tables(store, films[n], why);
		if (*err) {
			*err = *err < 0 ? *err : 0;
			return 0;
		}
		tables += films[n]->tables;
		if (n && tables > TABLES_MAX)
			break;
	}
	return n;
}

/* What was sent becomes a film of its hour. */
static int merge_parts(struct store *store, struct store_film *const *parts, size_t count,
		       bool over, struct fail *why)
{
	uint64_t now = clock_ns(), oldest = UINT64_MAX, newest = 0;
	char name[FOLDER_NAME_MAX];
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
	count = count_fitting(store, parts, count, &err, why);
	if (!count)
		return err;
	err = free_name(store, parts[0], name, sizeof(name), why);
	return err ? err : merge_films(store, name, parts, count, false, why);
}

/*
 * The films of one hour that may become one: first those that are in their place, then what was
 * sent.
 */
static int merge_group(struct store *store, struct store_film *const *films, size_t count,
		       uint64_t now, struct fail *why)
{
	uint64_t end = (films[0]->start / NS_PER_HOUR + 1) * NS_PER_HOUR;
	bool over = now > end + SETTLED_NS;
	size_t hours = 0, from, n;
	int err = 0;

	while (hours < count && !films[hours]->is_part)
		hours++;
	if (hours < count)
		return merge_parts(store, films + hours, count - hours, over, why);
	for (from = 0; over && from < count; from += n) {
		n = count_fitting(store, films + from, count - from, &err, why);
		if (!n)
			return err;
		/* the rest at the next tick: a merge makes and drops films */
		if (n > 1 || !films[from]->is_packed)
			return merge_films(store, films[from]->name, films + from, n, true, why);
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
		err = merge_group(store, films + from, n, now, why);
	}
	free(films);
	return err;
}

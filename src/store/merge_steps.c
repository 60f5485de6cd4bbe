// SPDX-License-Identifier: Apache-2.0
/*
 * How films become one, so that a crash costs nothing. The steps, each on the disk before the next
 * one:
 *
 *	1. merge.film is written, with all that it is to hold
 *	2. the index hears which films it stands for
 *	3. merge.list says the same: from now on it will happen, even after a crash
 *	4. merge.film takes the place of the first of them, the index hears that, the others are
 *	   removed
 *	5. merge.list is removed
 *
 * The first step needs most of the time and nothing of the index: it is done for several films at
 * once, each in a thread of its own, as merge-N.film. The others are done for one after the other.
 */
#include "store/merge_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/database.h"
#include "base/file.h"
#include "base/thread.h"
#include "film/merge.h"
#include "store/room.h"

#define MERGE_FILM "merge.film"
#define MERGE_LIST "merge.list"
#define MERGE_END  "end"

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

/* Where a film is written; place: that of its job among those that are written at once. */
static int written_path(const struct store *store, size_t place, char path[PATH_MAX])
{
	char name[32] = MERGE_FILM;

	if (place)
		snprintf(name, sizeof(name), "merge-%zu.film", place);
	return store_path_of(store, name, path, PATH_MAX);
}

static void remove_written(const struct store *store, size_t place)
{
	char path[PATH_MAX];

	if (written_path(store, place, path))
		return;
	unlink(path);
	database_remove_side_files(path);
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

	/* of these, no list knows */
	for (size_t place = 1; place < MERGE_JOBS_MAX; place++)
		remove_written(store, place);
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

/* It is on the disk, and its mode says whether it is packed. */
static int settle_film(const char *path, bool pack, uint64_t *inode)
{
	struct stat st;

	if ((pack && chmod(path, 0400)) || stat(path, &st))
		return -errno;
	*inode = st.st_ino;
	return folder_sync(path);
}

/* Step 1 */
static int write_film(const struct merge_job *job, struct merge_written *written)
{
	char to[PATH_MAX], (*paths)[PATH_MAX] = malloc(job->count * sizeof(*paths));
	const char **list = calloc(job->count, sizeof(*list));
	int err = paths && list ? written_path(job->store, job->place, to) : -ENOMEM;

	written->bad = job->count;
	for (size_t i = 0; !err && i < job->count; i++) {
		list[i] = paths[i];
		err = store_path_of(job->store, job->films[i]->name, paths[i], sizeof(paths[i]));
	}
	if (err)
		fail_errno(&written->why, err, NULL, "cannot merge films of the store");
	else
		err = film_merge_files(list, job->count, to, job->pack, &written->bad,
				       &written->why);
	if (!err) {
		err = settle_film(to, job->pack, &written->inode);
		if (err)
			fail_errno(&written->why, err, NULL, "cannot write %s", to);
	}
	free(paths);
	free(list);
	return err;
}

static void *run(void *context)
{
	struct merge_job *job = context;

	job->written.err = write_film(job, &job->written);
	return NULL;
}

void store_merge_write(struct merge_job *jobs, size_t count)
{
	pthread_t threads[MERGE_JOBS_MAX];
	bool has_thread[MERGE_JOBS_MAX] = {false};

	for (size_t i = 0; i < count; i++) {
		jobs[i].place = i;
		jobs[i].written = (struct merge_written){0};
		has_thread[i] = i && !thread_spawn(&threads[i], run, &jobs[i]);
	}
	/* this thread does the first, and those for which there is no thread */
	for (size_t i = 0; i < count; i++)
		if (!has_thread[i])
			run(&jobs[i]);
	for (size_t i = 0; i < count; i++)
		if (has_thread[i])
			pthread_join(threads[i], NULL);
}

void store_merge_forget(const struct merge_job *job)
{
	remove_written(job->store, job->place);
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

/* What another thread has written is the one merge.film now. */
static int call_merge_film(const struct merge_job *job)
{
	char from[PATH_MAX], to[PATH_MAX];
	int err = written_path(job->store, job->place, from);

	if (!err)
		err = store_path_of(job->store, MERGE_FILM, to, sizeof(to));
	if (!err && job->place && rename(from, to))
		err = -errno;
	return err;
}

int store_merge_finish(struct merge_job *job, struct fail *why)
{
	struct store *store = job->store;
	struct index_film of = {job->into, job->films[0]->host, NULL};
	struct merge merge = {0};
	int err = call_merge_film(job);

	if (!err)
		err = describe(&merge, job->into, job->films, job->count);
	if (err)
		fail_errno(why, err, NULL, "cannot merge films of the store");
	if (!err)
		err = index_merge_begin(store->index, &of, job->written.inode,
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

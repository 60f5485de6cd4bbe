// SPDX-License-Identifier: Apache-2.0
/*
 * What cannot be read is moved to aside/. First the index learns of the gap, then the film is
 * moved: a process that ended between the two finds it damaged again, and reports the same. What a
 * power cut or a damaged index took from that is found again by what lies there.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/database.h"
#include "store/room.h"

#define ASIDE "aside"

/* Files that are kept. */
#define ASIDE_MAX 64

void store_say(const struct store *store, const char *format, ...)
{
	char words[PATH_MAX + 256];
	va_list args;

	if (!store->log)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	store->log(store->context, words);
}

static uint64_t changed_at(const char *path)
{
	struct stat st;

	if (stat(path, &st) || st.st_mtim.tv_sec < 0)
		return clock_wall();
	return (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
}

static int move_aside(struct store *store, const char *path, const char *aside)
{
	char to[PATH_MAX];
	int err = folder_make(store->path, ASIDE "/");

	if (!err &&
	    snprintf(to, sizeof(to), "%s/" ASIDE "/%s", store->path, aside) >= (int)sizeof(to))
		err = -ENAMETOOLONG;
	return err ? err : database_move(path, to);
}

int store_set_index_aside(struct store *store, const char *path)
{
	char aside[FOLDER_NAME_MAX];
	int err;

	folder_aside_name(aside, sizeof(aside), "index.db", clock_wall());
	err = move_aside(store, path, aside);
	if (!err)
		store_say(store,
			  "the index %s cannot be read: it was moved to %s/" ASIDE
			  "/%s, and is made again from the films",
			  path, store->path, aside);
	return err;
}

int store_set_aside(struct store *store, struct store_film *film, struct fail *why)
{
	char path[PATH_MAX], aside[FOLDER_NAME_MAX + 32];
	const struct index_gap gap = {film->name, aside, film->host, film->start,
				      film->start + NS_PER_HOUR};
	int err = store_path_of(store, film->name, path, sizeof(path));

	if (err)
		return fail_errno(why, err, NULL, "%s is damaged, and cannot be moved aside",
				  film->name);
	folder_aside_name(aside, sizeof(aside), film->name, changed_at(path));
	err = index_forget_damaged(store->index, &gap, why);
	if (err)
		return err;
	index_files_change(store->index);
	err = move_aside(store, path, aside);
	if (!err) {
		store_say(store, "the film %s is damaged: it was moved to %s/" ASIDE "/%s", path,
			  store->path, aside);
	} else {
		/* what is damaged is in the way, and of no use */
		store_say(store,
			  "the film %s is damaged, and cannot be moved to %s/" ASIDE
			  " (%s): it is removed",
			  path, store->path, strerror(-err));
		err = folder_remove(store->path, film->name);
	}
	index_files_changed(store->index);
	if (err)
		return fail_errno(why, err, NULL, "%s is damaged, and cannot be moved aside",
				  film->name);
	pthread_mutex_lock(&store->lock);
	store->set_aside++;
	store_drop(store, film);
	pthread_mutex_unlock(&store->lock);
	return 0;
}

typedef vec(char *) names_vec;

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(names_vec *names)
{
	vec_foreach (names, name)
		free(*name);
	vec_free(names);
}

/* Oldest first: their names begin with the time. */
static int read_names(const struct store *store, names_vec *names)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int err = store_path_of(store, ASIDE, path, sizeof(path));
	DIR *dir = err ? NULL : opendir(path);

	if (!dir)
		return err ? err : errno == ENOENT ? 0 : -errno;
	while (!err && (entry = readdir(dir))) {
		char *name;

		if (entry->d_name[0] == '.')
			continue;
		name = strdup(entry->d_name);
		if (!name || !vec_push(names, name)) {
			free(name);
			err = -ENOMEM;
		}
	}
	closedir(dir);
	if (names->count)
		qsort(names->at, names->count, sizeof(*names->at), by_text);
	return err;
}

static int log_aside(struct store *store, const char *aside, struct fail *why)
{
	struct index_gap gap = {.aside = aside};
	struct folder_name parsed;
	char name[FOLDER_NAME_MAX];
	bool other;

	if (!folder_parse_aside(aside, name) || !folder_parse(name, &parsed))
		return 0;
	pthread_mutex_lock(&store->lock);
	other = store_find(store, name) != NULL;
	pthread_mutex_unlock(&store->lock);
	gap.name = other ? NULL : name;
	gap.host = parsed.host;
	gap.from = parsed.start;
	gap.to = parsed.start + NS_PER_HOUR;
	return index_forget_damaged(store->index, &gap, why);
}

int store_log_aside(struct store *store, struct fail *why)
{
	names_vec names = {0};
	int err = read_names(store, &names);

	if (err)
		fail_errno(why, err, NULL, "cannot read the damaged films of the store %s",
			   store->path);
	for (size_t i = 0; !err && i < names.count; i++)
		err = log_aside(store, names.at[i], why);
	free_names(&names);
	store->is_aside_logged = !err;
	return err;
}

void store_remove_aside(const struct store *store)
{
	char file[PATH_MAX];
	names_vec names = {0};

	/* those that the index does not know yet are the only mark of their gap */
	if (!store->is_aside_logged)
		return;
	read_names(store, &names);
	for (size_t i = 0; i + ASIDE_MAX < names.count; i++) {
		if (snprintf(file, sizeof(file), "%s/" ASIDE "/%s", store->path, names.at[i]) <
			    (int)sizeof(file) &&
		    !unlink(file))
			store_say(store, "%s was removed: only the last %d damaged files are kept",
				  file, ASIDE_MAX);
	}
	free_names(&names);
}

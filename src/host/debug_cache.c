// SPDX-License-Identifier: Apache-2.0
/* The limit of the folder of debug files: the oldest go first. */
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "host/debug_server.h"

/* FOLDER/BUILD/FILE; what is above are the library's own settings. */
#define LEVEL 2

struct cached {
	char *path;
	int64_t time; /* s */
	uint64_t bytes;
};
struct cache {
	vec(struct cached) files;
	uint64_t bytes;
};

static int by_time(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void read_folder(const char *folder, struct cache *cache)
{
	char *copy = strdup(folder), *paths[] = {copy, NULL};
	FTS *fts = copy ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL) : NULL;
	FTSENT *entry;

	while (fts && (entry = fts_read(fts))) {
		struct cached file = {.time = 0};

		if (entry->fts_info == FTS_D && entry->fts_level >= LEVEL)
			fts_set(fts, entry, FTS_SKIP);
		if (entry->fts_info != FTS_F || entry->fts_level != LEVEL)
			continue;
		file.path = strdup(entry->fts_path);
		file.time = entry->fts_statp->st_mtime;
		file.bytes = (uint64_t)entry->fts_statp->st_size;
		cache->bytes += file.bytes;
		if (!file.path || !vec_push(&cache->files, file))
			free(file.path);
	}
	if (fts)
		fts_close(fts);
	free(copy);
}

static void remove_file(char *path)
{
	char *slash = strrchr(path, '/');

	unlink(path);
	/* its build's folder, where that was the last one */
	if (slash) {
		*slash = 0;
		(void)!rmdir(path);
	}
}

void debug_server_trim(const char *folder, uint64_t bytes_max, uint64_t files_max, uint64_t *bytes,
		       uint64_t *removed)
{
	struct cache cache = {.bytes = 0};
	size_t first = 0;

	read_folder(folder, &cache);
	if (cache.files.count)
		qsort(cache.files.at, cache.files.count, sizeof(*cache.files.at), by_time);
	while (first < cache.files.count &&
	       (cache.bytes > bytes_max || cache.files.count - first > files_max)) {
		cache.bytes -= cache.files.at[first].bytes;
		remove_file(cache.files.at[first].path);
		first++;
	}
	*bytes = cache.bytes;
	*removed += first;
	vec_foreach (&cache.files, file)
		free(file->path);
	vec_free(&cache.files);
}

// SPDX-License-Identifier: Apache-2.0
#include "process/page_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "process/cgroups.h"
#include "process/procfs.h"

#define MOUNTINFO_MAX (16u << 20)
#define CGROUP_MAX    65536u
#define STAT_MAX      16384u

static bool has_item(const char *list, const char *item)
{
	size_t length = strlen(item);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, item, length) && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

/* Version 1 counts memory wherever its hierarchy is mounted: version 2 does not, then. */
static int add_mount(struct page_cache *cache, const struct cgroup_mount *mount)
{
	char *point, *root;

	if (!mount->v2 && !has_item(mount->options, "memory"))
		return 0;
	if (cache->point && (mount->v2 || !cache->v2))
		return 0;
	point = strdup(mount->point);
	root = strdup(mount->root);
	if (!point || !root) {
		free(point);
		free(root);
		return -ENOMEM;
	}
	page_cache_close(cache);
	*cache = (struct page_cache){point, root, mount->v2};
	return 0;
}

int page_cache_open(struct page_cache *cache)
{
	struct buf text = {0};
	char *line, *rest = NULL;
	int err = procfs_read(getpid(), "mountinfo", MOUNTINFO_MAX, &text);

	*cache = (struct page_cache){0};
	for (line = err ? NULL : strtok_r((char *)text.at, "\n", &rest); line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct cgroup_mount mount;

		if (cgroup_parse_mount(line, &mount))
			err = add_mount(cache, &mount);
	}
	buf_free(&text);
	if (!err && !cache->point)
		err = -ENOENT;
	if (err)
		page_cache_close(cache);
	return err;
}

void page_cache_close(struct page_cache *cache)
{
	free(cache->point);
	free(cache->root);
	*cache = (struct page_cache){0};
}

bool page_cache_number(const char *text, const char *word, uint64_t *number)
{
	size_t length = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, word, length) && line[length] == ' ')
			return sscanf(line + length, " %" SCNu64, number) == 1;
	}
	return false;
}

static bool read_stat(int at, const char *path, const char *word, uint64_t *bytes)
{
	char text[STAT_MAX];
	ssize_t got = -1;
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (got <= 0)
		return false;
	text[got] = 0;
	return page_cache_number(text, word, bytes);
}

/* Of the groups right below, with what lies below them. */
static uint64_t below(DIR *folder)
{
	const struct dirent *entry;
	uint64_t sum = 0, bytes;

	while ((entry = readdir(folder))) {
		char path[sizeof(entry->d_name) + sizeof("/memory.stat")];

		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/memory.stat", entry->d_name);
		if (read_stat(dirfd(folder), path, "file", &bytes))
			sum += bytes;
	}
	return sum;
}

/*
 * The group's own, without those of groups below it, which processes of their own stand with.
 * Version 1 says that; in version 2 all figures have what is below.
 */
static bool read_own(const char *path, bool v2, uint64_t *bytes)
{
	DIR *folder = opendir(path);
	bool known =
		folder && read_stat(dirfd(folder), "memory.stat", v2 ? "file" : "cache", bytes);

	if (known && v2) {
		uint64_t others = below(folder);

		*bytes -= others < *bytes ? others : *bytes;
	}
	if (folder)
		closedir(folder);
	return known;
}

static bool group_of(const struct page_cache *cache, char *text, char *group, size_t size)
{
	struct procfs_cgroup line;

	while (procfs_parse_cgroup(&text, &line))
		if (cache->v2 ? line.v2 : !line.v2 && has_item(line.controllers, "memory")) {
			snprintf(group, size, "%s", line.path);
			return strlen(line.path) < size;
		}
	return false;
}

bool page_cache_of(const struct page_cache *cache, pid_t pid, char *group, size_t size,
		   uint64_t *bytes)
{
	char folder[PATH_MAX];
	struct buf text = {0};
	const char *inside;
	size_t root;
	bool found;

	if (!cache->point)
		return false;
	found = !procfs_read(pid, "cgroup", CGROUP_MAX, &text) &&
		group_of(cache, (char *)text.at, group, size);
	buf_free(&text);
	if (!found)
		return false;
	/* a group that lies outside of what is mounted here cannot be reached */
	root = strcmp(cache->root, "/") != 0 ? strlen(cache->root) : 0;
	if (strncmp(group, cache->root, root) != 0 || (group[root] && group[root] != '/') ||
	    strstr(group, "/.."))
		return false;
	inside = group + root;
	return snprintf(folder, sizeof(folder), "%s%s", cache->point, inside) <
		       (int)sizeof(folder) &&
	       read_own(folder, cache->v2, bytes);
}

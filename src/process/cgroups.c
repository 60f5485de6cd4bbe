// SPDX-License-Identifier: Apache-2.0
#include "process/cgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "process/mounts.h"
#include "process/procfs.h"

#define MOUNTINFO_BYTES_MAX (16 * 1024 * 1024)

bool cgroup_parse_mount(char *line, struct cgroup_mount *mount)
{
	struct mount_line parsed;

	if (!mount_parse(line, &parsed) ||
	    (strcmp(parsed.type, "cgroup") && strcmp(parsed.type, "cgroup2")))
		return false;
	*mount = (struct cgroup_mount){
		.v2 = !strcmp(parsed.type, "cgroup2"),
		.options = parsed.options,
		.root = parsed.root,
		.point = parsed.point,
	};
	return true;
}

/* Whether a list separated by commas holds an item of the given length. */
static bool list_holds(const char *list, const char *item, size_t length)
{
	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == length && !memcmp(list, item, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

/* Whether path is inside of group, and what follows then. */
static const char *below(const char *path, const char *group)
{
	size_t length = strlen(group);

	while (length && group[length - 1] == '/')
		length--;
	if (strncmp(path, group, length) || (path[length] && path[length] != '/'))
		return NULL;
	return path + length;
}

bool cgroup_holds(const struct cgroup_place *place, char *text)
{
	struct procfs_cgroup cgroup;

	while (procfs_parse_cgroup(&text, &cgroup)) {
		/* a controller is in one hierarchy only, so the first one tells which it is */
		if (cgroup.v2 != place->v2 ||
		    (!cgroup.v2 && !list_holds(place->controllers, cgroup.controllers,
					       strcspn(cgroup.controllers, ","))))
			continue;
		if (below(cgroup.path, place->path))
			return true;
	}
	return false;
}

/* "a/b" from "//a/b/"; null: no memory. -EINVAL in *err for what no group is named. */
static char *clean_path(const char *path, int *err)
{
	struct buf clean = {0};

	*err = *path ? 0 : -EINVAL;
	while (*path) {
		size_t skipped = strspn(path, "/"), length = strcspn(path + skipped, "/");

		path += skipped;
		if (length == 2 && !memcmp(path, "..", 2))
			*err = -EINVAL;
		if (length && (length != 1 || *path != '.')) {
			buf_put_u8(&clean, '/');
			buf_put(&clean, path, length);
		}
		path += length;
	}
	buf_put_u8(&clean, 0);
	if (clean.failed) {
		*err = -ENOMEM;
		buf_free(&clean);
	}
	return (char *)clean.at;
}

static char *join(const char *a, const char *b)
{
	size_t length = strlen(a);
	struct buf all = {0};

	while (length && a[length - 1] == '/')
		length--;
	buf_put(&all, a, length);
	buf_put_text(&all, b);
	if (!all.count)
		buf_put_u8(&all, '/');
	buf_put_u8(&all, 0);
	if (all.failed)
		buf_free(&all);
	return (char *)all.at;
}

struct places {
	struct cgroup_place *at;
	size_t count, room;
};

/* Adds the group that lies at rest below the mount, if it is there. */
static int add_place(struct places *places, const struct cgroup_mount *mount, const char *rest)
{
	struct cgroup_place place = {.v2 = mount->v2};
	char *directory = join(mount->point, rest);
	struct stat st;
	int err = -ENOMEM;

	if (!directory)
		return err;
	if (stat(directory, &st) || !S_ISDIR(st.st_mode)) {
		free(directory);
		return 0;
	}
	free(directory);
	place.id = st.st_ino;
	place.controllers = strdup(mount->v2 ? "" : mount->options);
	place.path = join(mount->root, rest);
	if (place.controllers && place.path && vec_push(places, place))
		return 0;
	free(place.controllers);
	free(place.path);
	return err;
}

/* One pass over the mounts: with_point: the path begins with a mount point. */
static int find_places(const char *mounts, const char *path, bool with_point, struct places *places)
{
	char *text = strdup(mounts), *line = text, *next;
	int err = text ? 0 : -ENOMEM;

	for (; text && *line && !err; line = next) {
		struct cgroup_mount mount;
		const char *rest;

		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (!cgroup_parse_mount(line, &mount))
			continue;
		rest = with_point ? below(path, mount.point) : path;
		if (rest)
			err = add_place(places, &mount, rest);
	}
	free(text);
	return err;
}

int cgroup_resolve(const char *path, struct cgroup_place **list, size_t *count)
{
	struct places places = {*list, *count, *count};
	struct buf mounts = {0};
	size_t before = *count;
	char *clean;
	int err;

	clean = clean_path(path, &err);
	if (!err)
		err = procfs_read(getpid(), "mountinfo", MOUNTINFO_BYTES_MAX, &mounts);
	if (!err && path[0] == '/')
		err = find_places((char *)mounts.at, clean, true, &places);
	if (!err && places.count == before)
		err = find_places((char *)mounts.at, clean, false, &places);
	if (!err && places.count == before)
		err = -ENOENT;
	free(clean);
	buf_free(&mounts);
	*list = places.at;
	*count = places.count;
	return err;
}

void cgroup_places_free(struct cgroup_place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(places[i].controllers);
		free(places[i].path);
	}
	free(places);
}

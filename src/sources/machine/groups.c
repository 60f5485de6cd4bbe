// SPDX-License-Identifier: Apache-2.0
#include "sources/machine/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "process/cgroups.h"
#include "process/procfs.h"

/* Of one reading. */
#define GROUPS_MAX 256

#define NUMBER_MAX 64

/* Version 1 says that a group has no limit by one that no machine has. */
#define NO_LIMIT (1ull << 60)

/* A mount of a hierarchy which has memory; one of version 1 has it alone, if it is there at all. */
static bool has_memory(const struct cgroup_mount *mount)
{
	char option[] = "memory", *found = strstr(mount->options, option);
	char after = found ? found[strlen(option)] : 0;

	return found && (found == mount->options || found[-1] == ',') && (!after || after == ',');
}

void machine_groups_find(struct machine_groups *groups, char *text)
{
	struct cgroup_mount mount;
	char *line, *save;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!cgroup_parse_mount(line, &mount) || (groups->point && mount.v2) ||
		    (!mount.v2 && !has_memory(&mount)))
			continue;
		free(groups->point);
		groups->point = strdup(mount.point);
		groups->v2 = mount.v2;
	}
}

void machine_groups_free(struct machine_groups *groups)
{
	vec_free(&groups->all);
	free(groups->point);
	*groups = (struct machine_groups){0};
}

/* False: it was named before, and so were those above it. */
static bool add_one(struct machine_groups *groups, const char *path)
{
	struct machine_group group = {.path = hash_bytes(path, strlen(path))};

	vec_foreach (&groups->all, known)
		if (known->path == group.path)
			return false;
	if (groups->all.count >= GROUPS_MAX) {
		groups->left_out++;
		return false;
	}
	strcpy(group.name, path);
	return vec_push(&groups->all, group);
}

void machine_groups_add(struct machine_groups *groups, const char *path)
{
	char name[MACHINE_GROUP_PATH], *slash;

	/* ".." is above what is mounted here */
	if (!groups->point || *path != '/' || strstr(path, "/../"))
		return;
	if (strlen(path) >= sizeof(name)) {
		groups->left_out++;
		return;
	}
	strcpy(name, path);
	while (name[1] && add_one(groups, name)) {
		slash = strrchr(name, '/');
		/* all is below the root, which has no limit */
		if (slash == name)
			break;
		*slash = 0;
	}
}

/* A number of a group's; 0: there is none, or "max". */
static uint64_t number_of(const struct machine_groups *groups, const char *path, const char *file)
{
	char name[MACHINE_GROUP_PATH + 512];
	struct buf text = {0};
	uint64_t number = 0;

	snprintf(name, sizeof(name), "%.400s%s/%s", groups->point, path, file);
	if (!procfs_read_file(name, NUMBER_MAX, &text)) {
		((char *)text.at)[strcspn((char *)text.at, "\n")] = 0;
		if (text_parse_u64((const char *)text.at, 1, NO_LIMIT, &number))
			number = 0;
	}
	buf_free(&text);
	return number;
}

/* The lower one of two limits, of which 0 is none. */
static uint64_t lower(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static uint64_t limit_of(const struct machine_groups *groups, const char *path)
{
	return groups->v2 ? lower(number_of(groups, path, "memory.max"),
				  number_of(groups, path, "memory.high"))
			  : number_of(groups, path, "memory.limit_in_bytes");
}

void machine_groups_read(struct machine_groups *groups,
			 void (*emit)(void *context, const char *path, uint64_t limit),
			 void *context)
{
	vec_foreach (&groups->all, group) {
		uint64_t limit = limit_of(groups, group->name), used;

		if (!limit || limit >= NO_LIMIT)
			continue;
		used = number_of(groups, group->name,
				 groups->v2 ? "memory.current" : "memory.usage_in_bytes");
		/* each CPU keeps some of what it was given: a group is a little below its limit */
		if (used >= limit - limit / 8)
			emit(context, group->name, limit);
	}
	groups->all.count = 0;
	if (groups->left_out > groups->refused)
		groups->refused = groups->left_out;
	groups->left_out = 0;
}

// SPDX-License-Identifier: Apache-2.0
/* The parsers of /proc: the first byte says which, the rest is the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/cgroups.h"
#include "process/container.h"
#include "process/procfs.h"
#include "process/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void try_lines(char *text, int mounts)
{
	char *next;

	for (char *line = text; *line; line = next) {
		struct cgroup_mount mount;
		struct procfs_mapping m;

		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (mounts && cgroup_parse_mount(line, &mount))
			check(strlen(mount.root) + strlen(mount.point) + strlen(mount.options) > 0);
		if (!mounts && procfs_parse_mapping(line, &m))
			check(m.start < m.end && m.path >= line && m.path < next + 1);
	}
}

static void try_cgroup(char *text)
{
	struct cgroup_place place = {false, "rw,cpu,name=x", "/a", 0};
	char container[80], *copy = strdup(text);
	const char *path;

	cgroup_holds(&place, copy);
	free(copy);
	path = procfs_choose_cgroup(text);
	check(!*path || *path == '/');
	check(container_of_cgroup(path, container, sizeof(container)) == (container[0] != 0));
}

static void take_mapping(void *context, const struct smaps_mapping *mapping)
{
	(void)context;
	check(mapping->rss <= mapping->at.end - mapping->at.start &&
	      mapping->anonymous <= mapping->rss);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct procfs_stat stat;
	char *text;

	if (!size || !(text = malloc(size)))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0] % 8) {
	case 0:
		try_lines(text, 0);
		break;
	case 1:
		try_lines(text, 1);
		break;
	case 2:
		try_cgroup(text);
		break;
	case 3:
		if (procfs_parse_stat(text, &stat))
			check(stat.pid >= 0 && stat.parent >= 0 &&
			      memchr(stat.comm, 0, sizeof(stat.comm)));
		break;
	case 4:
		check(procfs_parse_tgid(text) >= 0);
		break;
	case 6:
		smaps_parse(text, take_mapping, NULL);
		break;
	case 7:
		procfs_kb(text, "VmPTE");
		break;
	default:
		procfs_join_arguments(text, size - 1);
		break;
	}
	free(text);
	return 0;
}

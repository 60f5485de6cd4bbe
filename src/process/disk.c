// SPDX-License-Identifier: Apache-2.0
#include "process/disk.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MINOR_BITS 20 /* linux/kdev_t.h */

/* How many volumes may lie on each other: a logical one, an encrypted one, another kind. */
#define LAYERS_MAX 8

/* The most bytes of a path within sysfs, but for where that is mounted. */
#define PATH_BYTES (DISK_NAME_MAX + 32)

/* Cuts the last name off a path, and returns it; "": there is none. */
static const char *cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return "";
	*slash = 0;
	return slash + 1;
}

/* The whole disk of a device whose link in sysfs this is. False: it is not known. */
static bool find_whole(const char *link, char to[DISK_NAME_MAX])
{
	char partition[PATH_MAX], target[PATH_MAX];
	ssize_t size = readlink(link, target, sizeof(target) - 1);
	const char *name;

	if (size <= 0)
		return false;
	target[size] = 0;
	name = cut_last(target);
	snprintf(partition, sizeof(partition), "%s/partition", link);
	/* a partition's folder is in that of its disk */
	if (!access(partition, F_OK))
		name = cut_last(target);
	if (!*name || strlen(name) >= DISK_NAME_MAX)
		return false;
	strcpy(to, name);
	return true;
}

/* The only name in a folder. False: there is none, or another one. */
static bool find_only(const char *folder, char to[DISK_NAME_MAX])
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (count++ || strlen(entry->d_name) >= DISK_NAME_MAX)
			break;
		strcpy(to, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return count == 1 && *to;
}

const char *disk_of_device_in(const char *sysfs, uint32_t device, char to[DISK_NAME_MAX])
{
	unsigned int major = device >> MINOR_BITS, minor = device & ((1u << MINOR_BITS) - 1);
	char path[PATH_MAX], below[DISK_NAME_MAX];

	*to = 0;
	/* what has no device of its own has the major number 0 */
	if (!major || strlen(sysfs) + PATH_BYTES > sizeof(path))
		return to;
	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", sysfs, major, minor);
	if (!find_whole(path, to))
		return to;
	for (int i = 0; i < LAYERS_MAX; i++) {
		*below = 0;
		snprintf(path, sizeof(path), "%s/block/%s/slaves", sysfs, to);
		if (!find_only(path, below))
			break;
		snprintf(path, sizeof(path), "%s/class/block/%s", sysfs, below);
		if (!find_whole(path, to))
			break;
	}
	return to;
}

const char *disk_of_device(uint32_t device, char to[DISK_NAME_MAX])
{
	return disk_of_device_in("/sys", device, to);
}

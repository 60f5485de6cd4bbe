// SPDX-License-Identifier: Apache-2.0
#include "process/disk.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MINOR_BITS 20 /* linux/kdev_t.h */

/* Cuts the last name off a path, and returns it; "": there is none. */
static const char *cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return "";
	*slash = 0;
	return slash + 1;
}

const char *disk_of_device(uint32_t device, char to[DISK_NAME_MAX])
{
	unsigned int major = device >> MINOR_BITS, minor = device & ((1u << MINOR_BITS) - 1);
	char path[96], target[PATH_MAX];
	const char *name;
	ssize_t size;

	*to = 0;
	/* what has no device of its own has the major number 0 */
	if (!major)
		return to;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major, minor);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return to;
	target[size] = 0;
	name = cut_last(target);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major, minor);
	/* a partition's folder is in that of its disk */
	if (!access(path, F_OK))
		name = cut_last(target);
	if (strlen(name) < DISK_NAME_MAX)
		strcpy(to, name);
	return to;
}

// SPDX-License-Identifier: Apache-2.0
#include "camera/requests_goroutines.h"

#include <stdlib.h>

#include "base/map.h"
#include "probe/functions.h"

/* The most files of which it is kept whether they are Go's; then they are looked at again. */
#define FILES_MAX 65536

struct requests_goroutines {
	struct map files;     /* a hash of device and inode: whether it is Go's */
	struct map processes; /* those that have such a file */
};

struct requests_goroutines *requests_goroutines_new(void)
{
	return calloc(1, sizeof(struct requests_goroutines));
}

void requests_goroutines_free(struct requests_goroutines *goroutines)
{
	if (!goroutines)
		return;
	map_free(&goroutines->files);
	map_free(&goroutines->processes);
	free(goroutines);
}

static bool is_go(struct requests_goroutines *goroutines, const struct image *image)
{
	const struct symbol_image what = {
		.fd = image->fd, .path = image->path, .root = image->root};
	const uint64_t file[] = {image->device, image->inode};
	uint64_t key = hash_bytes(file, sizeof(file));
	const uint64_t *known = map_get(&goroutines->files, key);
	bool is;

	if (known)
		return *known;
	if (goroutines->files.count >= FILES_MAX)
		map_free(&goroutines->files);
	is = probe_is_go(&what);
	/* without memory it is looked at again */
	(void)!map_put(&goroutines->files, key, is);
	return is;
}

void requests_goroutines_meet(struct requests_goroutines *goroutines, pid_t pid,
			      const struct image *image)
{
	if (image->kind == IMAGE_FILE && image->fd >= 0 && is_go(goroutines, image))
		(void)!map_put(&goroutines->processes, (uint64_t)pid, 1);
}

void requests_goroutines_ended(struct requests_goroutines *goroutines, pid_t pid)
{
	map_remove(&goroutines->processes, (uint64_t)pid);
}

bool requests_goroutines_has(const struct requests_goroutines *goroutines, pid_t pid)
{
	return map_get(&goroutines->processes, (uint64_t)pid);
}

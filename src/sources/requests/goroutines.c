// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/goroutines.h"

#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/map.h"
#include "bpf/requests/abi.h"
#include "elf/image.h"
#include "probe/functions.h"
#include "runtime/go/records.h"
#include "unwind/go_pclntab.h"

/*
 * The most goroutines that are made between two ticks, and by a process that has asked others for
 * nothing yet: to note one takes about a us, and several times that in virtual machines in which a
 * breakpoint is the hypervisor's work; there a program never comes near the first if it is large.
 */
#define STARTS_MOST	   30000
#define STARTS_MOST_UNUSED 10000

/* Instead of how many a process has made: it was found to make too many. */
#define LEFT UINT64_MAX

/* The most files of which it is kept whether they are Go's; then they are looked at again. */
#define FILES_MAX 65536

struct requests_goroutines {
	int map;
	struct map files;     /* a hash of device and inode: the minor version of Go, and 1; or 0 */
	struct map processes; /* those that have such a file: goroutines made up to the last tick */
};

struct requests_goroutines *requests_goroutines_new(int map)
{
	struct requests_goroutines *goroutines = calloc(1, sizeof(*goroutines));

	if (goroutines)
		goroutines->map = map;
	return goroutines;
}

void requests_goroutines_free(struct requests_goroutines *goroutines)
{
	if (!goroutines)
		return;
	map_free(&goroutines->files);
	map_free(&goroutines->processes);
	free(goroutines);
}

/* The minor version of Go that has built it, and 1; 0: it is not Go's. */
static uint64_t look_at(const struct image *image)
{
	const struct symbol_image what = {
		.fd = image->fd, .path = image->path, .root = image->root};
	struct go_table table = {0};
	struct elf_image elf;
	struct fail why;

	if (!probe_is_go(&what))
		return 0;
	if (!elf_image_open_bare(&elf, image->fd, image->memory, image->memory_size, &why) &&
	    go_table_open(&table, &elf))
		table.minor = 0;
	elf_image_close(&elf);
	return table.minor + 1ull;
}

static uint64_t version_of(struct requests_goroutines *goroutines, const struct image *image)
{
	const uint64_t file[] = {image->device, image->inode};
	uint64_t key = hash_bytes(file, sizeof(file)), version;
	const uint64_t *known = map_get(&goroutines->files, key);

	if (known)
		return *known;
	if (goroutines->files.count >= FILES_MAX)
		map_free(&goroutines->files);
	version = look_at(image);
	/* without memory it is looked at again */
	(void)!map_put(&goroutines->files, key, version);
	return version;
}

void requests_goroutines_meet(struct requests_goroutines *goroutines, pid_t pid,
			      const struct image *image)
{
	uint64_t version =
		image->kind == IMAGE_FILE && image->fd >= 0 ? version_of(goroutines, image) : 0;
	const struct go_records *records = version ? go_records_of((uint32_t)(version - 1)) : NULL;
	uint32_t key = (uint32_t)pid;

	if (version && !map_get(&goroutines->processes, key))
		(void)!map_put(&goroutines->processes, key, 0);
	if (records) {
		const struct requests_go where = {.goid = records->goid, .curg = records->curg};

		/* what is there stays: the kernel's side writes there */
		(void)!bpf_map_update_elem(goroutines->map, &key, &where, BPF_NOEXIST);
	}
}

void requests_goroutines_ended(struct requests_goroutines *goroutines, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	if (!map_get(&goroutines->processes, key))
		return;
	map_remove(&goroutines->processes, key);
	bpf_map_delete_elem(goroutines->map, &key);
}

/* A server that asks no other: that its goroutines are noted has no use. */
static bool is_unused(const struct requests_go *where)
{
	return !where->asks && !where->calls && where->starts > STARTS_MOST_UNUSED;
}

void requests_goroutines_tick(struct requests_goroutines *goroutines,
			      bool (*too_many)(void *context, pid_t pid), void *context)
{
	uint64_t pid, before;

	for (size_t i = 0; map_next(&goroutines->processes, &i, &pid, &before);) {
		struct requests_go where;
		uint32_t key = (uint32_t)pid;

		bool is_left;

		if (before == LEFT || bpf_map_lookup_elem(goroutines->map, &key, &where))
			continue;
		is_left = (where.starts - (uint32_t)before > STARTS_MOST || is_unused(&where)) &&
			  too_many(context, (pid_t)pid);
		*map_get(&goroutines->processes, pid) = is_left ? LEFT : where.starts;
	}
}

bool requests_goroutines_has(const struct requests_goroutines *goroutines, pid_t pid)
{
	return map_get(&goroutines->processes, (uint64_t)pid);
}

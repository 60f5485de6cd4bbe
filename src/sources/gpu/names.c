// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Values of by_process point to these: of a hash, its name (char *). */
struct of_process {
	struct map by_hash;
};

static struct of_process *find_process(const struct gpu_names *names, uint32_t pid)
{
	const uint64_t *known = map_get(&names->by_process, pid);

	return known ? (struct of_process *)(uintptr_t)*known : NULL;
}

static struct of_process *new_process(struct gpu_names *names, uint32_t pid)
{
	struct of_process *process = calloc(1, sizeof(*process));

	if (process && map_put(&names->by_process, pid, (uint64_t)(uintptr_t)process))
		return process;
	free(process);
	return NULL;
}

int gpu_names_add(struct gpu_names *names, uint32_t pid, uint64_t hash, const char *name)
{
	struct of_process *process = find_process(names, pid);
	char *copy;

	if (process && map_get(&process->by_hash, hash))
		return 0;
	if (names->count >= GPU_NAMES_MAX)
		return -E2BIG;
	if (!process)
		process = new_process(names, pid);
	copy = process ? strdup(name) : NULL;
	if (!copy || !map_put(&process->by_hash, hash, (uint64_t)(uintptr_t)copy)) {
		free(copy);
		return -ENOMEM;
	}
	names->count++;
	return 0;
}

const char *gpu_names_find(const struct gpu_names *names, uint32_t pid, uint64_t hash)
{
	const struct of_process *process = find_process(names, pid);
	const uint64_t *name = process ? map_get(&process->by_hash, hash) : NULL;

	return name ? (const char *)(uintptr_t)*name : NULL;
}

void gpu_names_forget(struct gpu_names *names, uint32_t pid)
{
	struct of_process *process = find_process(names, pid);
	uint64_t hash, name;

	if (!process)
		return;
	names->count -= process->by_hash.count;
	for (size_t i = 0; map_next(&process->by_hash, &i, &hash, &name);)
		free((void *)(uintptr_t)name);
	map_free(&process->by_hash);
	free(process);
	map_remove(&names->by_process, pid);
}

void gpu_names_free(struct gpu_names *names)
{
	uint64_t pid, process;

	for (size_t i = 0; map_next(&names->by_process, &i, &pid, &process); i = 0)
		gpu_names_forget(names, (uint32_t)pid);
	map_free(&names->by_process);
}

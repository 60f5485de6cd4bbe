// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/strangers.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/map.h"
#include "attach/filter.h"

/* The most processes that are remembered; then they are asked for again. */
#define PROCESSES_MAX 65536

enum {
	TARGET,
	STRANGER,
	ASK_AGAIN, /* it was a stranger under the name that it had */
};

struct mem_strangers {
	struct map known; /* pid: which of these it is */
};

struct mem_strangers *mem_strangers_new(void)
{
	return calloc(1, sizeof(struct mem_strangers));
}

void mem_strangers_free(struct mem_strangers *strangers)
{
	if (!strangers)
		return;
	map_free(&strangers->known);
	free(strangers);
}

/* The kernel forgets a process that has ended: such a one is meant if the one that made it is. */
static bool is_child_of_target(const struct mem_strangers *strangers, const struct source *source,
			       pid_t pid)
{
	const struct selection *selection = source->host->selection;
	const struct process *process;
	const uint64_t *parent;

	if (selection->no_children || !kill(pid, 0) || errno != ESRCH)
		return false;
	process = samples_process(source->host->samples, pid);
	parent = process ? map_get(&strangers->known, (uint64_t)process->parent) : NULL;
	if (parent)
		return *parent == TARGET;
	return process && filter_is_target(source->host->probes, selection, process->parent);
}

bool mem_strangers_has(struct mem_strangers *strangers, const struct source *source, pid_t pid)
{
	const struct selection *selection = source->host->selection;
	const uint64_t *known;
	bool is_one;

	if (selection->whole_machine)
		return false;
	known = map_get(&strangers->known, (uint64_t)pid);
	if (known && *known != ASK_AGAIN)
		return *known == STRANGER;
	is_one = !filter_is_target(source->host->probes, selection, pid) &&
		 !is_child_of_target(strangers, source, pid);
	if (strangers->known.count >= PROCESSES_MAX)
		map_free(&strangers->known);
	(void)!map_put(&strangers->known, (uint64_t)pid, is_one ? STRANGER : TARGET);
	return is_one;
}

void mem_strangers_gone(struct mem_strangers *strangers, pid_t pid)
{
	uint64_t *known = map_get(&strangers->known, (uint64_t)pid);

	if (known && *known == STRANGER)
		*known = ASK_AGAIN;
}

bool mem_strangers_ended(struct mem_strangers *strangers, pid_t pid)
{
	const uint64_t *known = map_get(&strangers->known, (uint64_t)pid);
	bool was_one = known && *known != TARGET;

	map_remove(&strangers->known, (uint64_t)pid);
	return was_one;
}

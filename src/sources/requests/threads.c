// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/threads.h"

#include <stdbool.h>
#include <string.h>

#include "base/owned.h"

/* The most threads, and processes, whose names are kept. */
#define NAMES_MAX 65536

static void keep(struct requests_threads *threads, uint64_t key, const char *comm)
{
	size_t size = sizeof(threads->current.comm);
	char *name;

	if (threads->names.count >= NAMES_MAX)
		requests_threads_free(threads);
	name = owned_make(&threads->names, key, size, NAMES_MAX);
	if (name)
		memcpy(name, comm, size);
}

/* Most pieces are of the thread that the last one was of. */
static bool is_current(const struct requests_threads *threads,
		       const struct capture_identity *identity)
{
	const struct capture_identity *current = &threads->current;

	return *current->comm && current->pid == identity->pid && current->tid == identity->tid &&
	       current->thread_start == identity->thread_start &&
	       current->exec_id == identity->exec_id;
}

const struct capture_identity *requests_threads_name(struct requests_threads *threads,
						     const struct capture_identity *identity)
{
	const uint64_t thread[] = {(uint64_t)identity->pid << 32 | identity->tid,
				   identity->thread_start, identity->exec_id};
	uint64_t key = hash_bytes(thread, sizeof(thread));
	const char *name;

	if (!*identity->comm && is_current(threads, identity))
		return &threads->current;
	threads->current = *identity;
	if (*identity->comm) {
		keep(threads, key, identity->comm);
		keep(threads, identity->pid, identity->comm);
		return &threads->current;
	}
	name = owned_get(&threads->names, key);
	if (!name)
		name = owned_get(&threads->names, identity->pid);
	if (name)
		memcpy(threads->current.comm, name, sizeof(threads->current.comm));
	return &threads->current;
}

void requests_threads_free(struct requests_threads *threads)
{
	owned_free(&threads->names);
}

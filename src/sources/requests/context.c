// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/requests/abi.h"
#include "process/remote.h"
#include "process/tls_variable.h"

enum {
	FILES_MAX = 16384, /* whose symbols were looked at; others are not */
	PENDING_MAX = 4096,
	TRIES_MAX = 60, /* seconds in which the dynamic linker should have come so far */
};

struct pending {
	pid_t pid;
	unsigned int tries;
	dev_t device;
	ino_t inode;
	struct tls_variable file;
};

struct requests_contexts {
	int map;
	struct map by_file; /* place in files, and 1; 0: it has none */
	vec(struct tls_variable) files;
	vec(struct pending) pending;
	struct map known; /* processes in the kernel's map */
	uint64_t refused;
};

/* What the records are like, by their variable. */
static const char *const names[] = {
	"otel_thread_ctx_v1",
	/* github.com/elastic/apm, specs/agents/universal-profiling-integration.md */
	"elastic_apm_profiling_correlation_tls_v1",
};

#define LAYOUTS (sizeof(names) / sizeof(names[0]))

static const struct {
	uint8_t trace_at, span_at, valid_at;
} layouts[LAYOUTS] = {
	{0, 16, 24},
	{5, 21, 2},
};

struct requests_contexts *requests_contexts_new(int map)
{
	struct requests_contexts *contexts = calloc(1, sizeof(*contexts));

	if (contexts)
		contexts->map = map;
	return contexts;
}

void requests_contexts_free(struct requests_contexts *contexts)
{
	if (!contexts)
		return;
	map_free(&contexts->by_file);
	map_free(&contexts->known);
	vec_free(&contexts->files);
	vec_free(&contexts->pending);
	free(contexts);
}

/* -- files ------------------------------------------------------------------------------------- */

/* Null: it has no such variable, or there is no room. */
static const struct tls_variable *file_of(struct requests_contexts *contexts,
					  const struct image *image)
{
	uint64_t key = hash_u64(image->device ^ hash_u64(image->inode));
	const uint64_t *known = map_get(&contexts->by_file, key);
	struct tls_variable found = {0};

	if (known)
		return *known ? &contexts->files.at[*known - 1] : NULL;
	if (contexts->by_file.count >= FILES_MAX)
		return NULL;
	tls_variable_find(image, names, LAYOUTS, &found);
	if (found.model && !vec_push(&contexts->files, found))
		found.model = TLS_MODEL_NONE;
	map_put(&contexts->by_file, key, found.model ? contexts->files.count : 0);
	return found.model ? vec_last(&contexts->files) : NULL;
}

/* -- processes --------------------------------------------------------------------------------- */

static void publish(struct requests_contexts *contexts, pid_t pid, const struct tls_variable *file,
		    const struct tls_place *place)
{
	const struct requests_context where = {
		.at = *place,
		.trace_at = layouts[file->which].trace_at,
		.span_at = layouts[file->which].span_at,
		.valid_at = layouts[file->which].valid_at,
	};
	uint32_t key = (uint32_t)pid;

	if (bpf_map_update_elem(contexts->map, &key, &where, BPF_ANY) ||
	    !map_put(&contexts->known, key, 1))
		contexts->refused++;
}

static int read_remote(void *pid, void *to, size_t size, uint64_t address)
{
	return remote_read(*(const pid_t *)pid, to, size, address);
}

static int resolve(struct requests_contexts *contexts, const struct pending *p,
		   const struct process *process)
{
	pid_t pid = p->pid;
	struct tls_place place;
	int err;

	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (mapping->image->device != p->device || mapping->image->inode != p->inode)
			continue;
		err = tls_variable_place(&p->file, read_remote, &pid, process, mapping->bias,
					 &place);
		if (!err)
			publish(contexts, pid, &p->file, &place);
		return err;
	}
	return -EAGAIN;
}

void requests_contexts_meet(struct requests_contexts *contexts, pid_t pid,
			    const struct image *image)
{
	const struct tls_variable *file =
		image->kind == IMAGE_FILE ? file_of(contexts, image) : NULL;
	struct pending pending = {.pid = pid, .device = image->device, .inode = image->inode};

	if (!file)
		return;
	if (file->model == TLS_MODEL_PROGRAM) {
		publish(contexts, pid, file, &(struct tls_place){.offset = file->offset});
		return;
	}
	pending.file = *file;
	if (contexts->pending.count >= PENDING_MAX || !vec_push(&contexts->pending, pending))
		contexts->refused++;
}

void requests_contexts_tick(struct requests_contexts *contexts,
			    const struct process *(*find)(void *context, pid_t pid), void *context)
{
	size_t left = 0;

	for (size_t i = 0; i < contexts->pending.count; i++) {
		struct pending *p = &contexts->pending.at[i];
		const struct process *process = find(context, p->pid);

		if (!process || process->end || !resolve(contexts, p, process))
			continue;
		if (++p->tries < TRIES_MAX)
			contexts->pending.at[left++] = *p;
		else
			contexts->refused++;
	}
	contexts->pending.count = left;
}

void requests_contexts_ended(struct requests_contexts *contexts, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t left = 0;

	for (size_t i = 0; i < contexts->pending.count; i++)
		if (contexts->pending.at[i].pid != pid)
			contexts->pending.at[left++] = contexts->pending.at[i];
	contexts->pending.count = left;
	if (!map_get(&contexts->known, key))
		return;
	map_remove(&contexts->known, key);
	bpf_map_delete_elem(contexts->map, &key);
}

uint64_t requests_contexts_refused(const struct requests_contexts *contexts)
{
	return contexts->refused;
}

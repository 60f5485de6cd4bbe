// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/coroutines.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/runtime/python/abi.h"
#include "bpf/requests/abi.h"
#include "runtime/runtime.h"

enum {
	FILES_MAX = 16384, /* that were looked at; others are not */
	PENDING_MAX = 4096,
	TRIES_MAX = 60, /* seconds in which an interpreter should have run something */
};

struct pending {
	pid_t pid;
	unsigned int tries;
	dev_t device;
	ino_t inode;
	void *facts;
};

struct requests_coroutines {
	int map;
	struct map by_file; /* runtime_python's facts; 0: it is none of CPython */
	vec(struct pending) pending;
	struct map known; /* processes in the kernel's map */
	uint64_t refused;
};

struct requests_coroutines *requests_coroutines_new(int map)
{
	struct requests_coroutines *coroutines = calloc(1, sizeof(*coroutines));

	if (coroutines)
		coroutines->map = map;
	return coroutines;
}

void requests_coroutines_free(struct requests_coroutines *coroutines)
{
	uint64_t key, facts;

	if (!coroutines)
		return;
	for (size_t i = 0; map_next(&coroutines->by_file, &i, &key, &facts);)
		if (facts)
			runtime_python.close((void *)(uintptr_t)facts);
	map_free(&coroutines->by_file);
	map_free(&coroutines->known);
	vec_free(&coroutines->pending);
	free(coroutines);
}

/* -- files ------------------------------------------------------------------------------------- */

/* Null: it is none of CPython, or of a version that is refused. */
static void *look_at(struct requests_coroutines *coroutines, const struct image *image)
{
	struct budget budget;
	struct fail why = {0};
	void *facts = NULL;

	runtime_budget(&budget);
	if (runtime_is_suspect(&runtime_python, image, &budget))
		facts = runtime_python.open(image, &budget, &why);
	coroutines->refused += !facts && why.err;
	return facts;
}

static void *facts_of(struct requests_coroutines *coroutines, const struct image *image)
{
	uint64_t key = hash_u64(image->device ^ hash_u64(image->inode));
	const uint64_t *known = map_get(&coroutines->by_file, key);
	void *facts;

	if (known)
		return (void *)(uintptr_t)*known;
	if (coroutines->by_file.count >= FILES_MAX) {
		/* what it is stays unknown */
		coroutines->refused++;
		return NULL;
	}
	facts = look_at(coroutines, image);
	if (map_put(&coroutines->by_file, key, (uintptr_t)facts) || !facts)
		return facts;
	runtime_python.close(facts);
	return NULL;
}

/* -- processes --------------------------------------------------------------------------------- */

static void publish(struct requests_coroutines *coroutines, pid_t pid,
		    const struct python_data *data)
{
	bool is_entry = data->shape == PYTHON_CFRAMES_ENTRY;
	const struct requests_python where = {
		.key = data->tss,
		.values = data->tss_indirect,
		.thread_id = data->thread_id,
		.thread_frame = data->thread_frame,
		.cframe_current = data->cframe_current,
		.frame_code = data->frame_from + data->frame_code,
		.frame_previous = data->frame_from + data->frame_previous,
		/* of 3.11, the byte in front is known */
		.frame_owner = data->frame_from + data->frame_owner + is_entry,
		.code_flags = data->code_flags,
		.has_cframes = is_entry || data->shape == PYTHON_CFRAMES,
		.has_owners = data->shape != PYTHON_FRAME_OBJECTS,
	};
	uint32_t key = (uint32_t)pid;

	if (bpf_map_update_elem(coroutines->map, &key, &where, BPF_ANY) ||
	    !map_put(&coroutines->known, key, 1))
		coroutines->refused++;
}

/* 0; -EAGAIN: the interpreter has not begun; another error: it is not understood. */
static int attach(struct requests_coroutines *coroutines, const struct pending *p,
		  const struct process *process, const struct mapping *mapping)
{
	const struct runtime_at at = {
		.process = process,
		.mapping = mapping,
		.facts = p->facts,
		.memory = {process_read, (void *)process},
	};
	struct python_data data = {0};
	struct fail why;
	void *state;
	int err = runtime_python.attach(&at, &data, &state, &why);

	if (err)
		return err;
	/* a search among all threads would take too long in each call */
	if (!data.tss || !data.code_flags)
		return -EAGAIN;
	publish(coroutines, p->pid, &data);
	return 0;
}

static int resolve(struct requests_coroutines *coroutines, const struct pending *p,
		   const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (mapping->image->device == p->device && mapping->image->inode == p->inode)
			return attach(coroutines, p, process, mapping);
	}
	return -EAGAIN;
}

void requests_coroutines_meet(struct requests_coroutines *coroutines, pid_t pid,
			      const struct image *image)
{
	struct pending pending = {.pid = pid, .device = image->device, .inode = image->inode};

	if (image->kind == IMAGE_FILE && image->fd >= 0)
		pending.facts = facts_of(coroutines, image);
	if (!pending.facts)
		return;
	if (coroutines->pending.count >= PENDING_MAX || !vec_push(&coroutines->pending, pending))
		coroutines->refused++;
}

void requests_coroutines_tick(struct requests_coroutines *coroutines,
			      const struct process *(*find)(void *context, pid_t pid),
			      void *context)
{
	size_t left = 0;

	for (size_t i = 0; i < coroutines->pending.count; i++) {
		struct pending *p = &coroutines->pending.at[i];
		const struct process *process = find(context, p->pid);
		int err = process && !process->end ? resolve(coroutines, p, process) : 0;

		/* what is still being set up may look damaged */
		if (err && ++p->tries < TRIES_MAX)
			coroutines->pending.at[left++] = *p;
		else
			coroutines->refused += err != 0;
	}
	coroutines->pending.count = left;
}

void requests_coroutines_ended(struct requests_coroutines *coroutines, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t left = 0;

	for (size_t i = 0; i < coroutines->pending.count; i++)
		if (coroutines->pending.at[i].pid != pid)
			coroutines->pending.at[left++] = coroutines->pending.at[i];
	coroutines->pending.count = left;
	if (map_remove(&coroutines->known, key))
		bpf_map_delete_elem(coroutines->map, &key);
}

uint64_t requests_coroutines_refused(const struct requests_coroutines *coroutines)
{
	return coroutines->refused;
}

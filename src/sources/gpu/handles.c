// SPDX-License-Identifier: Apache-2.0
#include "sources/gpu/handles.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/* The most of each: 2 MiB is the smallest that a device maps, of which the largest have 150,000. */
#define HANDLES_MAX  (1u << 20)
#define MAPPINGS_MAX (1u << 20)

struct handle {
	uint64_t handle;
	uint32_t pid;
	uint32_t references, mappings;
};

struct mapping {
	uint64_t handle, address, bytes;
	uint32_t pid;
};

/* Both have a map from a hash of the process and the number to their place in the list. */
struct gpu_handles {
	vec(struct handle) handles;
	vec(struct mapping) mappings;
	struct map by_handle, by_address;
	struct map owners; /* pids to how many of both they have: most processes have none */
	uint64_t refused;
};

static uint64_t hash_of(uint32_t pid, uint64_t number)
{
	const uint64_t what[] = {pid, number};

	return hash_bytes(what, sizeof(what));
}

struct gpu_handles *gpu_handles_new(void)
{
	return calloc(1, sizeof(struct gpu_handles));
}

void gpu_handles_free(struct gpu_handles *h)
{
	if (!h)
		return;
	vec_free(&h->handles);
	vec_free(&h->mappings);
	map_free(&h->by_handle);
	map_free(&h->by_address);
	map_free(&h->owners);
	free(h);
}

uint64_t gpu_handles_refused(const struct gpu_handles *h)
{
	return h->refused;
}

static struct handle *handle_of(struct gpu_handles *h, uint32_t pid, uint64_t number)
{
	uint64_t *place = map_get(&h->by_handle, hash_of(pid, number));
	struct handle *handle = place ? &h->handles.at[*place] : NULL;

	return handle && handle->pid == pid && handle->handle == number ? handle : NULL;
}

static struct mapping *mapping_at(struct gpu_handles *h, uint32_t pid, uint64_t address)
{
	uint64_t *place = map_get(&h->by_address, hash_of(pid, address));
	struct mapping *mapping = place ? &h->mappings.at[*place] : NULL;

	return mapping && mapping->pid == pid && mapping->address == address ? mapping : NULL;
}

/* A process has one more. False: no memory. */
static bool own(struct gpu_handles *h, uint32_t pid)
{
	uint64_t *count = map_get(&h->owners, pid);

	if (!count)
		return map_put(&h->owners, pid, 1);
	++*count;
	return true;
}

static void disown(struct gpu_handles *h, uint32_t pid)
{
	uint64_t *count = map_get(&h->owners, pid);

	if (count && !--*count)
		map_remove(&h->owners, pid);
}

/* The last one gets its place. */
static void drop_handle(struct gpu_handles *h, struct handle *handle)
{
	const struct handle last = *vec_last(&h->handles);

	map_remove(&h->by_handle, hash_of(handle->pid, handle->handle));
	disown(h, handle->pid);
	if (handle != vec_last(&h->handles))
		/* its key is there: nothing is allocated */
		(void)!map_put(&h->by_handle, hash_of(last.pid, last.handle),
			       (uint64_t)(handle - h->handles.at));
	*handle = last;
	h->handles.count--;
}

static void drop_mapping(struct gpu_handles *h, struct mapping *mapping)
{
	const struct mapping last = *vec_last(&h->mappings);

	map_remove(&h->by_address, hash_of(mapping->pid, mapping->address));
	disown(h, mapping->pid);
	if (mapping != vec_last(&h->mappings))
		(void)!map_put(&h->by_address, hash_of(last.pid, last.address),
			       (uint64_t)(mapping - h->mappings.at));
	*mapping = last;
	h->mappings.count--;
}

void gpu_handles_made(struct gpu_handles *h, uint32_t pid, uint64_t number)
{
	struct handle *known = handle_of(h, pid, number);

	/* what released it was not seen */
	if (known)
		drop_handle(h, known);
	if (h->handles.count == HANDLES_MAX ||
	    !vec_push(&h->handles,
		      (struct handle){.handle = number, .pid = pid, .references = 1})) {
		h->refused++;
	} else if (!map_put(&h->by_handle, hash_of(pid, number), h->handles.count - 1)) {
		h->handles.count--;
		h->refused++;
	} else if (!own(h, pid)) {
		drop_handle(h, vec_last(&h->handles));
		h->refused++;
	}
}

void gpu_handles_retained(struct gpu_handles *h, uint32_t pid, uint64_t number)
{
	struct handle *handle = handle_of(h, pid, number);

	if (handle)
		handle->references++;
}

static enum gpu_handle_is state_of(struct gpu_handles *h, struct handle *handle)
{
	if (handle->references || handle->mappings)
		return GPU_HANDLE_KEPT;
	drop_handle(h, handle);
	return GPU_HANDLE_GONE;
}

enum gpu_handle_is gpu_handles_released(struct gpu_handles *h, uint32_t pid, uint64_t number)
{
	struct handle *handle = handle_of(h, pid, number);

	if (!handle)
		return GPU_HANDLE_UNKNOWN;
	handle->references -= handle->references != 0;
	return state_of(h, handle);
}

void gpu_handles_mapped(struct gpu_handles *h, uint32_t pid, uint64_t number, uint64_t address,
			uint64_t bytes)
{
	struct handle *handle = handle_of(h, pid, number);
	struct mapping *known = mapping_at(h, pid, address);

	if (known)
		drop_mapping(h, known);
	if (!handle || !bytes)
		return;
	if (h->mappings.count == MAPPINGS_MAX ||
	    !vec_push(&h->mappings, (struct mapping){number, address, bytes, pid})) {
		h->refused++;
	} else if (!map_put(&h->by_address, hash_of(pid, address), h->mappings.count - 1)) {
		h->mappings.count--;
		h->refused++;
	} else if (!own(h, pid)) {
		drop_mapping(h, vec_last(&h->mappings));
		h->refused++;
	} else {
		handle->mappings++;
	}
}

void gpu_handles_unmapped(struct gpu_handles *h, uint32_t pid, uint64_t address, uint64_t bytes,
			  void (*gone)(void *context, uint32_t pid, uint64_t handle), void *context)
{
	struct mapping *mapping;

	/* a range may have several, each whole, one behind the other */
	while (bytes && (mapping = mapping_at(h, pid, address)) != NULL) {
		struct handle *handle = handle_of(h, pid, mapping->handle);
		uint64_t number = mapping->handle, size = mapping->bytes;

		drop_mapping(h, mapping);
		if (handle) {
			handle->mappings -= handle->mappings != 0;
			if (state_of(h, handle) == GPU_HANDLE_GONE)
				gone(context, pid, number);
		}
		address += size;
		bytes -= size < bytes ? size : bytes;
	}
}

void gpu_handles_forget(struct gpu_handles *h, uint32_t pid)
{
	if (!map_get(&h->owners, pid))
		return;
	for (size_t i = h->handles.count; i-- > 0;)
		if (h->handles.at[i].pid == pid)
			drop_handle(h, &h->handles.at[i]);
	for (size_t i = h->mappings.count; i-- > 0;)
		if (h->mappings.at[i].pid == pid)
			drop_mapping(h, &h->mappings.at[i]);
}

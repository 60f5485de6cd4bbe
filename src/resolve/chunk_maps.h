/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_CHUNK_MAPS_H
#define RESOLVE_CHUNK_MAPS_H

#include "bpf/unwind/abi.h"
#include "unwind/pool.h"

/* The memory of the unwind tables' pool: each chunk is a BPF array that both sides map. */
struct chunk_maps {
	int map; /* descriptor of the map of chunks (bpf/capture/maps.h) */
	int fds[UNWIND_CHUNKS_MAX];
};

/* map: file descriptor. *maps must not move as long as the pool that uses this memory exists. */
struct unwind_pool_memory chunk_maps_begin(struct chunk_maps *maps, int map);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_CHUNK_MAPS_H
#define RESOLVE_CHUNK_MAPS_H

#include "bpf/unwind/abi.h"
#include "unwind/pool.h"

/* The memory of the unwind tables' pool: each chunk is a BPF array that both sides have mapped. */
struct chunk_maps {
	int map; /* of the chunks (bpf/capture/maps.h) */
	int fds[UNWIND_CHUNKS_MAX];
};

/*
 * map: file descriptor. *maps must stay where it is as long as the pool that has its memory here.
 */
struct unwind_pool_memory chunk_maps_begin(struct chunk_maps *maps, int map);

#endif

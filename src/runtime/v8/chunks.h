/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_V8_CHUNKS_H
#define RUNTIME_V8_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "process/resident.h"

/* Chunks of V8's heap begin at its multiples. */
#define V8_CHUNK_ALIGNMENT (256u << 10)

/* A chunk of V8's heap: what describes it, and an area of objects. */
struct v8_chunk {
	uint64_t at, end;
	uint64_t area, area_end;
	/* bytes of objects, also of those that died since the last collection */
	uint64_t allocated;
};

/*
 * Is there a chunk at this address, a multiple of V8_CHUNK_ALIGNMENT? Known of those of
 * Node.js 18 to 26.
 */
bool v8_chunk_at(struct resident *memory, uint64_t at, struct v8_chunk *chunk);

#endif

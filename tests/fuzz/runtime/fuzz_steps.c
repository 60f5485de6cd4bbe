// SPDX-License-Identifier: Apache-2.0
/*
 * The steps of the runtimes (src/bpf) over memory, registers and facts that hold anything: every
 * walk ends, and writes whole frames. (Real processes that were damaged are in fuzz_stored.c.)
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "one_memory.h"

#define STEPS_MAX (2 * UNWIND_FRAMES_MAX) /* as in the kernel */

/* Where the one mapping and the facts are in the only chunk. */
#define MAPPING 16u
#define FACTS	64u

/* All of the address space is the input, again and again; some pages are missing. */
struct here {
	struct unwind_walk walk;
	const uint8_t *bytes;
	size_t size;
	uint32_t chunk[UNWIND_CHUNK_WORDS];
	uint64_t frames[UNWIND_FRAMES_MAX];
};

static inline const struct here *here_of(const struct unwind_walk *w)
{
	return (const struct here *)w;
}

static inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n)
{
	return n ? NULL : here_of(w)->chunk;
}

static inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w)
{
	(void)w;
	return NULL;
}

static inline __u64 *unwind_frames(struct unwind_walk *w)
{
	return (__u64 *)((struct here *)w)->frames;
}

static inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	const struct here *here = here_of(w);
	uint8_t *out = to;
	size_t i;

	memset(to, 0, size);
	if (address < 4096 || (address >> 12) % 61 == 7)
		return -1;
	for (i = 0; i < size; i++)
		out[i] = here->bytes[(address + i) % here->size];
	return 0;
}

static inline int unwind_is_live(const struct unwind_walk *w)
{
	return !(here_of(w)->bytes[1] & 1);
}

/* The same bytes once more, from another place on: as much as is wanted. */
static void fill(const struct here *here, void *to, size_t size, size_t from)
{
	uint8_t *out = to;
	size_t i;

	for (i = 0; i < size; i++)
		out[i] = here->bytes[(from + i) % here->size];
}

/* Each frame of a runtime has two words. */
static void check(const struct here *here)
{
	uint32_t i;

	if (here->walk.count > UNWIND_FRAMES_MAX)
		abort();
	for (i = 0; i < here->walk.count; i++)
		i += (here->frames[i] & UNWIND_IS_RUNTIME) != 0;
	if (i > here->walk.count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct here here;
	struct unwind_mapping mapping = {.start = 4096, .end = 1ull << 47};
	struct unwind_walk *w = &here.walk;
	uint32_t i;

	if (size < 64)
		return 0;
	memset(w, 0, sizeof(*w));
	here.bytes = data;
	here.size = size;
	mapping.runtime = 1 + data[0] % (UNWIND_RUNTIME_COUNT - 1);
	mapping.kind = data[1] & 2 ? UNWIND_MAPPING_TABLE : UNWIND_MAPPING_NO_TABLE;
	mapping.data = FACTS;
	memcpy(here.chunk + MAPPING, &mapping, sizeof(mapping));
	fill(&here, here.chunk + FACTS, UNWIND_DATA_BYTES, 2);
	fill(&here, w->registers, sizeof(w->registers), 16);
	fill(&here, &w->pc, sizeof(w->pc), 32);
	fill(&here, &w->sp, sizeof(w->sp), 40);
	fill(&here, &w->fp, sizeof(w->fp), 48);
	fill(&here, &w->tls, sizeof(w->tls), 56);
	w->known = 0xffff;
	w->fp_known = w->pc_exact = 1;
	w->mappings = MAPPING;
	w->mapping_count = 1;
	for (i = 0; i < STEPS_MAX && !unwind_step(w); i++)
		;
	check(&here);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * What HotSpot has memory for: its heap, code cache, metaspace, and the card table.
 *
 * Universe::_collectedHeap says what is reserved for the heap (of ZGC nothing: its heap is shared
 * memory, which has a name). Where in it objects are, its parts say: regions of G1, spaces of the
 * serial and the parallel collector, each [bottom, end) with objects up to top. Of others, all of
 * it is objects or free.
 *
 * No table says where the metaspace is, but each class and its constants lie in it. Since JDK 16 it
 * is made of areas of 4 MiB or more, aligned to that, which have nothing else in them
 * (memory/metaspace/chunklevel.hpp); before, at least the memory around a class is taken for it.
 */
#include "runtime/hotspot/hotspot.h"

#include <string.h>

/* At most this many are read. */
#define REGIONS_MAX 65536u
#define LOADERS_MAX 16384u
#define CLASSES_MAX 16384u
#define AREAS_MAX   2048u

#define HEAP_MAX    (1ull << 46)
#define AREA	    (4ull << 20)
#define AREA_OLD    (64ull << 10)
#define AREA_SINCE  16u

/* What is read of a class, and of memory at once. */
#define CLASS_BYTES 1024u
#define POINTERS    512u

struct reading {
	const struct runtime_at *at;
	const struct hotspot *jvm;
	struct runtime_spans *spans;
	uint64_t start, end; /* what is reserved for the heap */
	uint64_t cursor;     /* up to here the heap is known */
	unsigned int classes, areas;
	size_t first_area; /* in spans */
};

static bool has(const struct reading *r, enum hotspot_fact fact)
{
	return r->jvm->facts[fact] != HOTSPOT_ABSENT;
}

static void add(struct reading *r, uint64_t start, uint64_t end, enum runtime_use use)
{
	struct runtime_span *last = r->spans->all.count ? vec_last(&r->spans->all) : NULL;

	if (start >= end)
		return;
	if (last && last->use == use && last->end == start)
		last->end = end;
	else if (!vec_push(&r->spans->all, (struct runtime_span){start, end, use}))
		r->spans->is_cut = true;
}

/* A static field. */
static bool get_static(const struct reading *r, enum hotspot_fact fact, uint64_t *value)
{
	return has(r, fact) && !runtime_read_u64(r->at, value, r->jvm->facts[fact]);
}

/* A field of 8 bytes of the thing at base. */
static bool get(const struct reading *r, uint64_t base, enum hotspot_fact fact, uint64_t *value)
{
	return has(r, fact) && base && !runtime_read_u64(r->at, value, base + r->jvm->facts[fact]);
}

/* -- the heap ---------------------------------------------------------------------------------- */

static bool get_reserved(struct reading *r, uint64_t heap)
{
	uint64_t region, words;

	if (!has(r, HOTSPOT_GC_RESERVED))
		return false;
	region = heap + r->jvm->facts[HOTSPOT_GC_RESERVED];
	if (!get(r, region, HOTSPOT_GC_REGION_START, &r->start) ||
	    !get(r, region, HOTSPOT_GC_REGION_WORDS, &words) || !r->start || !words ||
	    words > HEAP_MAX / 8 || r->start > UINT64_MAX - words * 8)
		return false;
	r->end = r->start + words * 8;
	r->cursor = r->start;
	return true;
}

/* A part of the heap, behind those before: what lies between is not told by any. */
static bool add_part(struct reading *r, uint64_t bottom, uint64_t top, uint64_t end)
{
	if (bottom < r->cursor || bottom > top || top > end || end > r->end)
		return false;
	add(r, r->cursor, bottom, RUNTIME_USE_HEAP);
	add(r, bottom, top, RUNTIME_USE_OBJECTS);
	add(r, top, end, RUNTIME_USE_FREE);
	r->cursor = end;
	return true;
}

/* Where the bounds of a part are. */
struct part_facts {
	enum hotspot_fact bottom, top, end;
};

struct part {
	uint64_t bottom, top, end;
};

static bool get_part(const struct reading *r, uint64_t address, const struct part_facts *facts,
		     struct part *part)
{
	return get(r, address, facts->bottom, &part->bottom) &&
	       get(r, address, facts->top, &part->top) && get(r, address, facts->end, &part->end);
}

/* Its regions lie in the order of their addresses; those that are not used may be missing. */
static void add_regions(struct reading *r, uint64_t heap)
{
	static const struct part_facts facts = {HOTSPOT_G1_BOTTOM, HOTSPOT_G1_TOP, HOTSPOT_G1_END};
	uint64_t regions, base, length, pointers[POINTERS];

	if (!has(r, HOTSPOT_G1_MANAGER) || !has(r, HOTSPOT_G1_REGIONS))
		return;
	regions = heap + r->jvm->facts[HOTSPOT_G1_MANAGER] + r->jvm->facts[HOTSPOT_G1_REGIONS];
	if (!get(r, regions, HOTSPOT_G1_TABLE, &base) ||
	    !get(r, regions, HOTSPOT_G1_LENGTH, &length) || length > REGIONS_MAX)
		return;
	for (uint64_t i = 0; i < length; i++) {
		size_t at = i % POINTERS;
		uint64_t left = length - i;
		struct part part;

		if (!at &&
		    runtime_read(r->at, pointers, 8 * (size_t)(left < POINTERS ? left : POINTERS),
				 base + 8 * i))
			return;
		if (pointers[at] && get_part(r, pointers[at], &facts, &part))
			add_part(r, part.bottom, part.top, part.end);
	}
}

#define SPACES_MAX 4

/* Spaces of generations, which lie in another order in memory than here. */
static void add_spaces(struct reading *r, const uint64_t spaces[SPACES_MAX],
		       const struct part_facts *facts)
{
	struct part parts[SPACES_MAX];

	for (size_t i = 0; i < SPACES_MAX; i++) {
		struct part part;
		size_t to = i;

		if (!get_part(r, spaces[i], facts, &part))
			return;
		for (; to && parts[to - 1].bottom > part.bottom; to--)
			parts[to] = parts[to - 1];
		parts[to] = part;
	}
	for (size_t i = 0; i < SPACES_MAX; i++)
		if (!add_part(r, parts[i].bottom, parts[i].top, parts[i].end))
			return;
}

/* False: it is not that collector's. */
static bool add_parallel(struct reading *r)
{
	static const struct part_facts facts = {HOTSPOT_MUTABLE_BOTTOM, HOTSPOT_MUTABLE_TOP,
						HOTSPOT_MUTABLE_END};
	uint64_t young, old, spaces[SPACES_MAX];

	if (!get_static(r, HOTSPOT_PARALLEL_YOUNG, &young) || !young)
		return false;
	if (get_static(r, HOTSPOT_PARALLEL_OLD, &old) &&
	    get(r, young, HOTSPOT_PARALLEL_EDEN, &spaces[0]) &&
	    get(r, young, HOTSPOT_PARALLEL_FROM, &spaces[1]) &&
	    get(r, young, HOTSPOT_PARALLEL_TO, &spaces[2]) &&
	    get(r, old, HOTSPOT_PARALLEL_OBJECTS, &spaces[3]))
		add_spaces(r, spaces, &facts);
	return true;
}

/* Nothing says that it is that collector's, but that all is as it would be. */
static void add_serial(struct reading *r, uint64_t heap)
{
	static const struct part_facts facts = {HOTSPOT_CONTIGUOUS_BOTTOM, HOTSPOT_CONTIGUOUS_TOP,
						HOTSPOT_CONTIGUOUS_END};
	uint64_t young, old, spaces[SPACES_MAX];

	if (get(r, heap, HOTSPOT_SERIAL_YOUNG, &young) && get(r, heap, HOTSPOT_SERIAL_OLD, &old) &&
	    get(r, young, HOTSPOT_SERIAL_EDEN, &spaces[0]) &&
	    get(r, young, HOTSPOT_SERIAL_FROM, &spaces[1]) &&
	    get(r, young, HOTSPOT_SERIAL_TO, &spaces[2]) &&
	    get(r, old, HOTSPOT_SERIAL_OBJECTS, &spaces[3]))
		add_spaces(r, spaces, &facts);
}

/* The table tells which heap it is of: other collectors have something else there. */
static void add_cards(struct reading *r)
{
	uint64_t barriers, cards, start, map, bytes;

	if (get_static(r, HOTSPOT_BARRIERS, &barriers) && get(r, barriers, HOTSPOT_CARDS, &cards) &&
	    has(r, HOTSPOT_CARDS_HEAP) &&
	    get(r, cards + r->jvm->facts[HOTSPOT_CARDS_HEAP], HOTSPOT_GC_REGION_START, &start) &&
	    start == r->start && get(r, cards, HOTSPOT_CARDS_MAP, &map) &&
	    get(r, cards, HOTSPOT_CARDS_BYTES, &bytes) && bytes <= r->end - r->start &&
	    map <= UINT64_MAX - bytes)
		add(r, map, map + bytes, RUNTIME_USE_CARDS);
}

static void add_heap(struct reading *r)
{
	uint64_t heap, grain;

	if (!get_static(r, HOTSPOT_HEAP_OBJECTS, &heap) || !heap || !get_reserved(r, heap))
		return;
	/* only G1 has regions of its size */
	if (get_static(r, HOTSPOT_G1_GRAIN, &grain) && grain)
		add_regions(r, heap);
	else if (!add_parallel(r))
		add_serial(r, heap);
	add(r, r->cursor, r->end, RUNTIME_USE_HEAP);
	add_cards(r);
}

/* -- classes ----------------------------------------------------------------------------------- */

static void add_area(struct reading *r, uint64_t address)
{
	uint64_t size = r->jvm->version >= AREA_SINCE ? AREA : AREA_OLD, start = address & -size;

	for (size_t i = r->first_area; i < r->spans->all.count; i++)
		if (r->spans->all.at[i].start <= address && r->spans->all.at[i].end > address)
			return;
	if (r->areas++ < AREAS_MAX && start <= UINT64_MAX - size)
		add(r, start, start + size, RUNTIME_USE_CLASSES);
	else
		r->spans->is_cut = true;
}

static uint64_t field(const uint8_t *bytes, uint64_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* The facts of what is read of a class. */
static const enum hotspot_fact class_facts[] = {HOTSPOT_CLASS_NEXT, HOTSPOT_CLASS_LOADER,
						HOTSPOT_CLASS_CONSTANTS};

/* How many bytes of a class are read; 0: its fields are not known. */
static size_t class_bytes(const struct reading *r)
{
	uint64_t last = 0;

	for (size_t i = 0; i < sizeof(class_facts) / sizeof(class_facts[0]); i++) {
		uint64_t at = r->jvm->facts[class_facts[i]];

		if (at > CLASS_BYTES - 8)
			return 0;
		last = at > last ? at : last;
	}
	return (size_t)last + 8;
}

/* What one loader has loaded: classes, and arrays of them, which have no constants. */
static void add_classes(struct reading *r, uint64_t loader, uint64_t class, size_t size)
{
	while (class && r->classes < CLASSES_MAX) {
		uint8_t bytes[CLASS_BYTES];
		uint64_t constants, holder;

		r->classes++;
		if (class % 8 || runtime_read(r->at, bytes, size, class) ||
		    field(bytes, r->jvm->facts[HOTSPOT_CLASS_LOADER]) != loader)
			return;
		add_area(r, class);
		constants = field(bytes, r->jvm->facts[HOTSPOT_CLASS_CONSTANTS]);
		if (constants && !(constants % 8) &&
		    get(r, constants, HOTSPOT_POOL_HOLDER, &holder) && holder == class)
			add_area(r, constants);
		class = field(bytes, r->jvm->facts[HOTSPOT_CLASS_NEXT]);
	}
	r->spans->is_cut |= class != 0;
}

static void add_metaspace(struct reading *r)
{
	size_t size = class_bytes(r);
	uint64_t loader, class;

	if (!size || !get_static(r, HOTSPOT_LOADERS, &loader))
		return;
	r->first_area = r->spans->all.count;
	for (unsigned int i = 0; loader && i < LOADERS_MAX; i++) {
		if (get(r, loader, HOTSPOT_LOADER_CLASSES, &class))
			add_classes(r, loader, class, size);
		if (!get(r, loader, HOTSPOT_LOADER_NEXT, &loader))
			return;
	}
}

/* -- all --------------------------------------------------------------------------------------- */

static void add_code(struct reading *r)
{
	for (size_t i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		const struct hotspot_heap *heap = &r->jvm->data.heaps[i];

		if (heap->start >= heap->end || heap->shift > 16)
			continue;
		add(r, heap->start, heap->end, RUNTIME_USE_CODE);
		add(r, heap->segmap, heap->segmap + ((heap->end - heap->start) >> heap->shift),
		    RUNTIME_USE_CODE);
	}
}

void hotspot_spans(const struct runtime_at *at, const void *state, struct runtime_spans *spans)
{
	struct reading r = {.at = at, .jvm = state, .spans = spans};

	add_code(&r);
	add_heap(&r);
	add_metaspace(&r);
}

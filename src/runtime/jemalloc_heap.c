// SPDX-License-Identifier: Apache-2.0
/*
 * jemalloc 5, on 64-bit machines with pages of 4 KiB and addresses of 48 bits (rtree.h, edata.h,
 * base.c, sc.h). A tree of two levels has a word for each page: the root 2^18 pointers, which are
 * static data, a leaf 2^18 words
 *
 *	bits 56-63	nothing		48-55	size class	6-47	the extent's description
 *	0-5		flags, in other places in each version
 *
 * for the first and the last page of each extent, and each page of a slab. A description begins
 * with
 *
 *	uint64_t bits;
 *	void *address;		in the first page: what proves that it is one
 *	size_t size;		in its lower 12 bits a serial number
 *
 * and in 5.3 the bits are: 12 it is a slab, 17-19 its state (0: it is in use), 20-27 its size
 * class, 28-37 how many regions of a slab are free. 5.2 has them in other places; it is recognized
 * by its size class, and what is in use is not read then.
 *
 * jemalloc's own data lies in blocks that begin at multiples of 2 MiB: their size, the next one,
 * and a description of what is left in them.
 */
#include "runtime/jemalloc_heap.h"

#include <string.h>

#define PAGE_SHIFT	 12
#define LEVEL_BITS	 18
#define LEVEL_MASK	 ((1ull << LEVEL_BITS) - 1)

#define ADDRESS_MAX	 (1ull << 47)
#define ADDRESS_BITS	 0xffffffffffc0ull
#define CACHELINE	 64u

#define IS_SLAB(bits)	 ((bits) >> 12 & 1)
#define STATE(bits)	 ((bits) >> 17 & 7)
#define SIZE_CLASS(bits) ((bits) >> 20 & 255)
#define FREE_ONES(bits)	 ((bits) >> 28 & 1023)
#define CLASS_OF(word)	 ((word) >> 48 & 255)

/* Classes of sizes that lie in slabs are fewer. */
#define CLASSES_OF_SLABS 64u

/* Of the root, and of a leaf. */
#define ROOT_BYTES (8ull << LEVEL_BITS)

/* About 40 ms. */
#define TRIES_MAX	10000u

#define BLOCK_ALIGNMENT (2ull << 20)
#define BLOCK_MAX	(64ull << 30)

struct description {
	uint64_t bits, address, size;
};

/* Bytes of a page that is kept for the next reads. */
static bool read_page(struct resident *memory, struct jemalloc_page *page, void *to, size_t size,
		      uint64_t address)
{
	uint64_t at = address & ~(uint64_t)(RESIDENT_PAGE - 1);

	if (address > ADDRESS_MAX)
		return false;
	if (address - at > RESIDENT_PAGE - size)
		return resident_read(memory, to, size, address);
	if (!page->is_there || page->at != at) {
		page->at = at;
		page->is_there = resident_read(memory, page->bytes, RESIDENT_PAGE, at);
	}
	if (page->is_there)
		memcpy(to, page->bytes + (address - at), size);
	return page->is_there;
}

/* The word of a page in a leaf, and the description that it leads to, if that is of this page. */
static bool describe(struct resident *memory, struct jemalloc_heap *heap, uint64_t leaf,
		     uint64_t at, uint64_t *word, struct description *description)
{
	uint64_t place = leaf + 8 * (at >> PAGE_SHIFT & LEVEL_MASK);

	return read_page(memory, &heap->leaf, word, sizeof(*word), place) && *word & ADDRESS_BITS &&
	       read_page(memory, &heap->extent, description, sizeof(*description),
			 *word & ADDRESS_BITS) &&
	       (description->address & ~(uint64_t)(RESIDENT_PAGE - 1)) == at &&
	       description->size >= RESIDENT_PAGE && description->size <= ADDRESS_MAX;
}

static bool is_leaf(uint64_t word)
{
	return word && word < ADDRESS_MAX && !(word % CACHELINE);
}

/* Is this word of the data the root's, for a sample? */
static bool try_word(struct resident *memory, const struct jemalloc_search *search, uint64_t at,
		     uint64_t leaf, uint64_t sample, struct jemalloc_heap *heap)
{
	uint64_t before = 8 * (sample >> (PAGE_SHIFT + LEVEL_BITS) & LEVEL_MASK), word;
	struct description description;

	if (at - search->from < before || search->to - (at - before) < ROOT_BYTES ||
	    !describe(memory, heap, leaf, sample, &word, &description))
		return false;
	heap->root = at - before;
	heap->is_known = SIZE_CLASS(description.bits) == CLASS_OF(word);
	return true;
}

bool jemalloc_heap_find(struct resident *memory, const struct jemalloc_search *search,
			struct jemalloc_heap *heap)
{
	unsigned int tries = 0;
	uint64_t leaf;

	*heap = (struct jemalloc_heap){0};
	if (search->from % 8 || search->to < search->from || search->to - search->from < ROOT_BYTES)
		return false;
	resident_forget(memory, search->to);
	for (uint64_t at = search->from; at < search->to; at += 8) {
		if (!resident_word(memory, at, &leaf)) {
			at = (at | (RESIDENT_PAGE - 1)) + 1 - 8;
			continue;
		}
		if (!is_leaf(leaf) || !search->may_be_own(search->context, leaf, ROOT_BYTES))
			continue;
		for (size_t i = 0; i < search->count; i++) {
			if (tries++ == TRIES_MAX)
				return false;
			if (try_word(memory, search, at, leaf, search->samples[i], heap))
				return true;
		}
	}
	return false;
}

/* 8, 16, 32, 48, 64, and from there on four sizes up to each power of two. */
static uint64_t size_of(uint64_t class)
{
	uint64_t group = (class - 5) / 4, in_group = (class - 5) % 4;

	if (class < 5)
		return class ? 16 * class : 8;
	return (64ull << group) + ((in_group + 1) * 16 << group);
}

/* False: it makes no sense, or is just being changed. */
static bool count_in_use(const struct description *description, uint64_t size, uint64_t *in_use)
{
	uint64_t class = SIZE_CLASS(description->bits), free = FREE_ONES(description->bits), ones;

	*in_use = 0;
	if (STATE(description->bits))
		return true;
	if (!IS_SLAB(description->bits)) {
		*in_use = size;
		return true;
	}
	if (class >= CLASSES_OF_SLABS)
		return false;
	ones = size / size_of(class);
	if (free > ones)
		return false;
	*in_use = (ones - free) * size_of(class);
	return true;
}

bool jemalloc_heap_extent(struct resident *memory, struct jemalloc_heap *heap, uint64_t at,
			  uint64_t end, struct jemalloc_extent *extent)
{
	struct description description;
	uint64_t leaf, word;

	*extent = (struct jemalloc_extent){0};
	if (!heap->root || at % RESIDENT_PAGE || at >= end || at >= ADDRESS_MAX ||
	    !read_page(memory, &heap->top, &leaf, sizeof(leaf),
		       heap->root + 8 * (at >> (PAGE_SHIFT + LEVEL_BITS) & LEVEL_MASK)) ||
	    !is_leaf(leaf) || !describe(memory, heap, leaf, at, &word, &description))
		return false;
	extent->bytes = description.size & ~(uint64_t)(RESIDENT_PAGE - 1);
	if (++heap->looks > JEMALLOC_LOOKS_MAX) {
		extent->bytes = end - at;
		return true;
	}
	extent->is_read = heap->is_known && SIZE_CLASS(description.bits) == CLASS_OF(word) &&
			  count_in_use(&description, extent->bytes, &extent->in_use);
	return true;
}

uint64_t jemalloc_heap_own(struct resident *memory, uint64_t at)
{
	struct {
		uint64_t size, next;
		struct description left;
	} block;

	if (at % BLOCK_ALIGNMENT || !resident_read(memory, &block, sizeof(block), at) ||
	    !block.size || block.size % BLOCK_ALIGNMENT || block.size > BLOCK_MAX ||
	    block.next % BLOCK_ALIGNMENT || block.left.address <= at ||
	    block.left.address > at + block.size ||
	    block.left.size != at + block.size - block.left.address)
		return 0;
	return block.size;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * jemalloc 5, on 64-bit machines with pages of 4 KiB (rtree.h, edata.h, base.c, sc.h). A tree has
 * an element for each page. How many bits an address has is that of the machine that built
 * jemalloc: with 48 the tree has two levels of 18 bits, with 57 three of 15. The root is static
 * data; it and the nodes below consist of pointers. A leaf consists of
 *
 *	48 bits: a word
 *		bits 48-55	size class
 *		6-47		the extent's description
 *		0-5		flags, in other places in each version
 *	57 bits: two words, the description and
 *		bits 5-12	size class, in 5.3
 *		0-4		flags
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
#include "runtime/allocators/jemalloc.h"

#include <string.h>

#define PAGE_SHIFT	 12

#define ADDRESS_MAX	 (1ull << 47)
#define ADDRESS_BITS	 0xffffffffffc0ull
#define CACHELINE	 64u

#define IS_SLAB(bits)	 ((bits) >> 12 & 1)
#define STATE(bits)	 ((bits) >> 17 & 7)
#define SIZE_CLASS(bits) ((bits) >> 20 & 255)
#define FREE_ONES(bits)	 ((bits) >> 28 & 1023)

/* Classes of sizes that lie in slabs are fewer. */
#define CLASSES_OF_SLABS 64u

/* About 40 ms. */
#define TRIES_MAX	10000u

#define BLOCK_ALIGNMENT (2ull << 20)
#define BLOCK_MAX	(64ull << 30)

struct tree {
	unsigned int levels, bits; /* bits of each level */
	unsigned int words;	   /* of an element of a leaf */
	unsigned int class_shift;  /* in the last of them */
};

/* For addresses of 48 and of 57 bits. */
static const struct tree trees[] = {
	{.levels = 2, .bits = 18, .words = 1, .class_shift = 48},
	{.levels = JEMALLOC_LEVELS_MAX, .bits = 15, .words = 2, .class_shift = 5},
};

/* Of the smaller root. */
#define ROOT_BYTES_MIN (8ull << 15)

struct description {
	uint64_t bits, address, size;
	uint64_t class_in_tree;
};

#define DESCRIPTION_BYTES offsetof(struct description, class_in_tree)

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

/* Which of a node's elements leads to an address. */
static uint64_t element_of(const struct tree *tree, unsigned int level, uint64_t at)
{
	unsigned int below = tree->levels - 1 - level;

	return at >> (PAGE_SHIFT + tree->bits * below) & ((1ull << tree->bits) - 1);
}

/* Of a node above the leaves. */
static uint64_t node_bytes(const struct tree *tree)
{
	return 8ull << tree->bits;
}

static bool is_node(uint64_t word)
{
	return word && word < ADDRESS_MAX && !(word % CACHELINE);
}

static bool find_leaf(struct resident *memory, struct jemalloc_heap *heap, uint64_t at,
		      uint64_t *leaf)
{
	const struct tree *tree = &trees[heap->is_wide];

	*leaf = heap->root;
	for (unsigned int level = 0; level + 1 < tree->levels; level++) {
		uint64_t place = *leaf + 8 * element_of(tree, level, at);

		if (!read_page(memory, &heap->nodes[level], leaf, sizeof(*leaf), place) ||
		    !is_node(*leaf))
			return false;
	}
	return true;
}

/* What the tree leads to from a page, if that describes an extent that begins there. */
static bool describe(struct resident *memory, struct jemalloc_heap *heap, uint64_t at,
		     struct description *description)
{
	const struct tree *tree = &trees[heap->is_wide];
	unsigned int last = tree->levels - 1;
	uint64_t leaf, words[2];
	size_t size = sizeof(words[0]) * tree->words;

	if (!find_leaf(memory, heap, at, &leaf) ||
	    !read_page(memory, &heap->nodes[last], words, size,
		       leaf + size * element_of(tree, last, at)) ||
	    !(words[0] & ADDRESS_BITS) ||
	    !read_page(memory, &heap->extent, description, DESCRIPTION_BYTES,
		       words[0] & ADDRESS_BITS))
		return false;
	description->class_in_tree = words[tree->words - 1] >> tree->class_shift & 255;
	return (description->address & ~(uint64_t)(RESIDENT_PAGE - 1)) == at &&
	       description->size >= RESIDENT_PAGE && description->size <= ADDRESS_MAX;
}

/* As in version 5.3. */
static bool is_known(const struct description *description)
{
	return SIZE_CLASS(description->bits) == description->class_in_tree;
}

/* Is this word of the data the root's, for a sample? */
static bool try_sample(struct resident *memory, const struct jemalloc_search *search, uint64_t at,
		       uint64_t sample, struct jemalloc_heap *heap)
{
	const struct tree *tree = &trees[heap->is_wide];
	uint64_t before = 8 * element_of(tree, 0, sample);
	struct description description;

	if (at - search->from < before || search->to - (at - before) < node_bytes(tree))
		return false;
	heap->root = at - before;
	if (!describe(memory, heap, sample, &description))
		return false;
	heap->is_known = is_known(&description);
	return true;
}

/* The same, for all samples and both trees; node is the word. */
static bool try_word(struct resident *memory, const struct jemalloc_search *search, uint64_t at,
		     uint64_t node, unsigned int *tries, struct jemalloc_heap *heap)
{
	for (int is_wide = 0; is_wide < 2; is_wide++) {
		heap->is_wide = is_wide;
		if (!search->may_be_own(search->context, node, node_bytes(&trees[is_wide])))
			continue;
		for (size_t i = 0; i < search->count && *tries < TRIES_MAX; i++, ++*tries)
			if (try_sample(memory, search, at, search->samples[i], heap))
				return true;
	}
	return false;
}

bool jemalloc_heap_find(struct resident *memory, const struct jemalloc_search *search,
			struct jemalloc_heap *heap)
{
	unsigned int tries = 0;
	uint64_t node;

	*heap = (struct jemalloc_heap){0};
	if (search->from % 8 || search->to < search->from ||
	    search->to - search->from < ROOT_BYTES_MIN)
		return false;
	resident_forget(memory, search->to);
	for (uint64_t at = search->from; at < search->to && tries < TRIES_MAX; at += 8) {
		if (!resident_word(memory, at, &node))
			at = (at | (RESIDENT_PAGE - 1)) + 1 - 8;
		else if (is_node(node) && try_word(memory, search, at, node, &tries, heap))
			return true;
	}
	heap->root = 0;
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

	*extent = (struct jemalloc_extent){0};
	if (!heap->root || at % RESIDENT_PAGE || at >= end || at >= ADDRESS_MAX ||
	    !describe(memory, heap, at, &description))
		return false;
	extent->bytes = description.size & ~(uint64_t)(RESIDENT_PAGE - 1);
	if (++heap->looks > JEMALLOC_LOOKS_MAX) {
		extent->bytes = end - at;
		return true;
	}
	extent->is_read = heap->is_known && is_known(&description) &&
			  count_in_use(&description, extent->bytes, &extent->in_use);
	return true;
}

uint64_t jemalloc_heap_own(struct resident *memory, uint64_t at)
{
	struct {
		uint64_t size, next, bits, left_at, left;
	} block;

	if (at % BLOCK_ALIGNMENT || !resident_read(memory, &block, sizeof(block), at) ||
	    !block.size || block.size % BLOCK_ALIGNMENT || block.size > BLOCK_MAX ||
	    block.next % BLOCK_ALIGNMENT || block.left_at <= at ||
	    block.left_at > at + block.size || block.left != at + block.size - block.left_at)
		return 0;
	return block.size;
}

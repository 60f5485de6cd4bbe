// SPDX-License-Identifier: Apache-2.0
#include "unwind/jit_debug.h"

#include <stdlib.h>

#include "base/map.h"

/* The most code of one image: a table takes 8 bytes and more for each 64 KiB. */
#define PAGES_MAX (1u << 15)

/* As GDB's manual has them. */
struct jit_code_entry {
	uint64_t next, previous;
	uint64_t symfile, size;
};

struct jit_descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

#define VERSION 1

struct list {
	struct jit_code_entry at[JIT_DEBUG_IMAGES_MAX];
	unsigned int count;
};

static void read_list(struct list *list, unwind_read_memory *read, void *context,
		      uint64_t descriptor)
{
	struct jit_descriptor head;
	struct jit_code_entry entry;
	uint64_t at;
	unsigned int seen;

	if (read(context, &head, sizeof(head), descriptor) || head.version != VERSION)
		return;
	for (seen = 0, at = head.first; at && seen < JIT_DEBUG_IMAGES_MAX;
	     seen++, at = entry.next) {
		if (read(context, &entry, sizeof(entry), at))
			return;
		if (entry.size && entry.size <= JIT_DEBUG_BYTES_MAX)
			list->at[list->count++] = entry;
	}
}

/* The image of an entry, to be freed; null: it cannot be read. */
static void *read_image(const struct jit_code_entry *entry, unwind_read_memory *read, void *context)
{
	void *image = malloc(entry->size);

	if (image && read(context, image, entry->size, entry->symfile)) {
		free(image);
		image = NULL;
	}
	return image;
}

static void build(struct jit_debug *to, const void *image, size_t size, struct unwind_pool *pool,
		  struct unwind_rules *rules)
{
	struct unwind_table *table = &to->tables[to->count];
	struct fail why = {0};

	if (unwind_table_of_memory(image, size, pool, rules, table, &why) || !table->pages)
		return;
	if (table->pages > PAGES_MAX)
		unwind_table_drop(table, pool);
	else
		to->count++;
}

bool jit_debug_read(struct jit_debug *to, struct jit_debug *old, unwind_read_memory *read,
		    void *context, uint64_t descriptor, struct unwind_pool *pool,
		    struct unwind_rules *rules)
{
	void *images[JIT_DEBUG_IMAGES_MAX] = {0};
	struct list list = {0};
	uint64_t hash = 0;
	bool changed;

	*old = (struct jit_debug){0};
	read_list(&list, read, context, descriptor);
	for (unsigned int i = 0; i < list.count; i++) {
		images[i] = read_image(&list.at[i], read, context);
		if (images[i])
			hash = hash * 31 + hash_bytes(images[i], list.at[i].size);
	}
	changed = hash != to->hash;
	if (changed) {
		*old = *to;
		*to = (struct jit_debug){.hash = hash};
	}
	to->descriptor = descriptor;
	for (unsigned int i = 0; i < list.count; i++) {
		if (changed && images[i])
			build(to, images[i], list.at[i].size, pool, rules);
		free(images[i]);
	}
	return changed;
}

bool jit_debug_has_begun(const struct jit_debug *of, unwind_read_memory *read, void *context)
{
	struct jit_descriptor head;

	return !of->hash && of->descriptor && !read(context, &head, sizeof(head), of->descriptor) &&
	       head.first;
}

const struct unwind_table *jit_debug_table(const struct jit_debug *of, uint64_t start, uint64_t end)
{
	for (unsigned int i = 0; i < of->count; i++) {
		const struct unwind_table *table = &of->tables[i];
		uint64_t first = (uint64_t)table->first_page << UNWIND_PAGE_SHIFT;

		if (start < first + ((uint64_t)table->pages << UNWIND_PAGE_SHIFT) && end > first)
			return table;
	}
	return NULL;
}

void jit_debug_drop(struct jit_debug *of, struct unwind_pool *pool)
{
	for (unsigned int i = 0; i < of->count; i++)
		unwind_table_drop(&of->tables[i], pool);
	*of = (struct jit_debug){0};
}

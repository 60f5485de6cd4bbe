// SPDX-License-Identifier: Apache-2.0
#include "runtime/python/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/procfs.h"
#include "runtime/python/pools.h"

#define MAPS_MAX (4u << 20)

/* Types that were looked at, by a hash of their addresses. */
#define TYPES 64

/* Include/object.h, Include/internal/pycore_gc.h: behind an object's head, and before it. */
enum {
	OBJECT_TYPE = 8,
	OBJECT_ALIGNED = 16,
	TYPE_NAME = 24,
	LONG_TAG = 16, /* PyLongObject, since 3.12: how many digits, above three bits */
	LONG_DIGIT = 24,
	GC_HEAD = 16,
	GC_NEXT = 0, /* in it: its neighbours in the collector's list, and flags */
	GC_PREVIOUS = 8,
	GC_FLAGS = 3,
};

/* Where objects lie, and the most references to one. */
#define OBJECTS_FROM 65536ull
#define OBJECTS_TO   (1ull << 47)
#define COUNT_MAX    (1ull << 32)

static const char name_of_tasks[] = "_asyncio.Task";

struct search {
	struct resident memory;
	const struct python_tasks *facts;
	void (*emit)(void *context, const struct python_waiting *waiting);
	void *context;
	uint64_t pages;			/* that were looked into */
	uint64_t pools, debugged;	/* of them, and those with words around each object */
	uint8_t bytes[PYTHON_POOL_MAX]; /* of a pool */
	struct type {
		uint64_t at;
		bool is_task;
	} types[TYPES];
};

static bool read_word(struct resident *memory, uint64_t at, uint64_t *word)
{
	return resident_read(memory, word, sizeof(*word), at);
}

/* -- a task ------------------------------------------------------------------------------------ */

static bool is_type_of_tasks(struct resident *memory, uint64_t type)
{
	char name[sizeof(name_of_tasks)];
	uint64_t text;

	return read_word(memory, type + TYPE_NAME, &text) &&
	       resident_read(memory, name, sizeof(name), text) &&
	       !memcmp(name, name_of_tasks, sizeof(name));
}

/* Whether the neighbours of an object, of which the head is given, know it. */
static bool is_listed(struct resident *memory, uint64_t at, const uint64_t head[2])
{
	const uint64_t flags = GC_FLAGS, self = at - GC_HEAD;
	uint64_t next = head[0] & ~flags, previous = head[1] & ~flags, back, forth;

	return next && previous && read_word(memory, next + GC_PREVIOUS, &back) &&
	       read_word(memory, previous + GC_NEXT, &forth) && (back & ~flags) == self &&
	       (forth & ~flags) == self;
}

bool python_waiting_read(struct resident *memory, const struct python_tasks *facts, uint64_t at,
			 struct python_waiting *waiting)
{
	const struct tasks_image *image = &facts->image;
	uint8_t bytes[GC_HEAD + PYTHON_TASKS_SIZE_MAX];
	const uint8_t *task = bytes + GC_HEAD;
	uint64_t head[2], count, type, coroutine, other;
	uint32_t state;

	if (at % OBJECT_ALIGNED || at < GC_HEAD ||
	    !resident_read(memory, bytes, GC_HEAD + facts->size, at - GC_HEAD))
		return false;
	memcpy(head, bytes, sizeof(head));
	memcpy(&count, task, sizeof(count));
	memcpy(&type, task + OBJECT_TYPE, sizeof(type));
	memcpy(&state, task + image->state, sizeof(state));
	memcpy(&coroutine, task + image->coroutine, sizeof(coroutine));
	*waiting = (struct python_waiting){.at = at};
	memcpy(&waiting->waits_for, task + image->waiter, sizeof(waiting->waits_for));
	memcpy(&waiting->name, task + image->name, sizeof(waiting->name));
	if (!count || state || !coroutine || !waiting->waits_for || !waiting->name ||
	    !is_type_of_tasks(memory, type) || !is_listed(memory, at, head) ||
	    !read_word(memory, waiting->waits_for + OBJECT_TYPE, &other))
		return false;
	waiting->for_task = other == type;
	return true;
}

static void read_text(struct resident *memory, const struct tasks_image *image, uint64_t text,
		      char *to, size_t size)
{
	char read[TASKS_QUALIFIED_MAX];

	if (!text || !resident_read(memory, read, size, text + image->text))
		return;
	memcpy(to, read, strnlen(read, size));
}

void python_waiting_name(struct resident *memory, const struct python_tasks *facts,
			 const struct python_waiting *waiting, struct tasks_named *named)
{
	const struct tasks_image *image = &facts->image;
	uint64_t coroutine, qualified, type, text_type, tag, digit;

	if (!read_word(memory, waiting->at + image->coroutine, &coroutine) ||
	    !read_word(memory, coroutine + image->qualified, &qualified))
		return;
	read_text(memory, image, qualified, named->qualified, sizeof(named->qualified));
	if (!read_word(memory, waiting->name + OBJECT_TYPE, &type) ||
	    !read_word(memory, qualified + OBJECT_TYPE, &text_type))
		return;
	if (type == text_type)
		read_text(memory, image, waiting->name, named->name, sizeof(named->name));
	else if (read_word(memory, waiting->name + LONG_TAG, &tag) && tag >> 3 == 1 &&
		 read_word(memory, waiting->name + LONG_DIGIT, &digit))
		named->counted = (uint32_t)digit;
}

static bool is_spent(const struct search *s)
{
	return s->memory.is_spent || s->pages >= PYTHON_WAITING_PAGES;
}

/* -- pools ------------------------------------------------------------------------------------- */

/* Whether a type is that of tasks. One that was looked at is known. */
static bool is_task(struct search *s, uint64_t type)
{
	struct type *known = &s->types[type / OBJECT_ALIGNED % TYPES];

	if (known->at != type)
		*known = (struct type){type, is_type_of_tasks(&s->memory, type)};
	return known->is_task;
}

static bool is_object(uint64_t at)
{
	return at >= OBJECTS_FROM && at < OBJECTS_TO && !(at % OBJECT_ALIGNED);
}

/*
 * Whether what is there may be a task that awaits something, by its own words alone: most of what
 * pools have is something else.
 */
static bool may_wait(const struct python_tasks *facts, const uint8_t *task, uint64_t *type)
{
	const struct tasks_image *image = &facts->image;
	uint64_t count, waiter, coroutine;
	uint32_t state;

	memcpy(&count, task, sizeof(count));
	memcpy(type, task + OBJECT_TYPE, sizeof(*type));
	memcpy(&waiter, task + image->waiter, sizeof(waiter));
	memcpy(&coroutine, task + image->coroutine, sizeof(coroutine));
	memcpy(&state, task + image->state, sizeof(state));
	return count && count < COUNT_MAX && *type >= OBJECTS_FROM && *type < OBJECTS_TO &&
	       is_object(waiter) && is_object(coroutine) && !state;
}

/* Reads a pool as far as objects have been in it. False: it is not there as a whole. */
static bool read_pool(struct search *s, uint64_t at, uint32_t size)
{
	for (uint64_t page = at; page < at + size; page += RESIDENT_PAGE)
		if (!resident_has(&s->memory, page))
			return false;
	return !s->memory.read(s->memory.context, s->bytes, size, at);
}

static void search_pool(struct search *s, uint64_t pool, const struct python_pool *of)
{
	const uint32_t step = of->object_size;

	if (!read_pool(s, pool, of->used))
		return;
	for (uint32_t at = PYTHON_POOL_HEAD; at + step <= of->used; at += step) {
		uint32_t task = at + s->facts->before;
		struct python_waiting waiting;
		uint64_t type;

		if (may_wait(s->facts, s->bytes + task, &type) && is_task(s, type) &&
		    python_waiting_read(&s->memory, s->facts, pool + task, &waiting))
			s->emit(s->context, &waiting);
	}
}

/*
 * Objects/obmalloc.c: the allocator for debugging (-X dev) puts two words before each object, of
 * which the second one ends with seven bytes of the first value; what was given back has the other.
 */
static bool is_debugged(uint64_t second)
{
	return second >> 8 == 0xfdfdfdfdfdfdfd || second >> 8 == 0xdddddddddddddd;
}

/* The size of the pool that begins at a page; 0: none does. */
static uint64_t pool_at(struct search *s, uint64_t at, struct python_pool *pool)
{
	uint64_t words[PYTHON_POOL_WORDS + 2], size;

	if (!resident_has(&s->memory, at))
		return 0;
	s->pages++;
	if (s->memory.read(s->memory.context, words, sizeof(words), at))
		return 0;
	size = python_pool_of(words, at, pool);
	s->pools += size > 0;
	s->debugged += size && is_debugged(words[PYTHON_POOL_WORDS + 1]);
	return size;
}

static void search_mapping(struct search *s, const struct procfs_mapping *mapping)
{
	const uint32_t least = s->facts->before + s->facts->size, behind = s->facts->behind;

	resident_forget(&s->memory, mapping->end);
	for (uint64_t at = mapping->start; at < mapping->end && !is_spent(s);) {
		struct python_pool pool;
		uint64_t size = pool_at(s, at, &pool);

		if (!size || size > mapping->end - at) {
			at += RESIDENT_PAGE;
			continue;
		}
		if (pool.object_size >= least && pool.object_size < least + behind + OBJECT_ALIGNED)
			search_pool(s, at, &pool);
		at += size;
	}
}

int python_waiting_find(pid_t pid, const struct python_tasks *facts,
			void (*emit)(void *context, const struct python_waiting *waiting),
			void *context)
{
	struct search s = {.facts = facts, .emit = emit, .context = context};
	struct buf maps = {0};
	struct procfs_mapping mapping;
	int err = procfs_read(pid, "maps", MAPS_MAX, &maps);
	char *line, *rest = (char *)maps.at;

	if (err && err != -EFBIG)
		goto out;
	err = resident_open(&s.memory, pid);
	if (err)
		goto out;
	resident_allow(&s.memory, PYTHON_WAITING_LOOKS, UINT64_MAX);
	while ((line = strsep(&rest, "\n")))
		/* small objects lie in memory of the process's own, which has no name */
		if (procfs_parse_mapping(line, &mapping) && mapping.readable && mapping.writable &&
		    !mapping.shared && !mapping.inode &&
		    (!*mapping.path || !strncmp(mapping.path, "[anon", 5)))
			search_mapping(&s, &mapping);
	err = is_spent(&s) ? -EFBIG : s.debugged * 2 >= s.pools ? -ENODATA : 0;
	resident_close(&s.memory);
out:
	buf_free(&maps);
	return err;
}

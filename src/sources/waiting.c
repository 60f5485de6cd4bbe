// SPDX-License-Identifier: Apache-2.0
#include "sources/waiting.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/* Entries are numbered from 1, so that 0 is none. */
struct list {
	uint32_t first, last;
};

/* Each entry is in three lists. */
enum {
	BY_AGE,	    /* all, the oldest first */
	BY_PROCESS, /* of one process */
	BY_HASH,    /* whose process and key have the same hash */
	LISTS
};

struct entry {
	struct waiting_half half;
	struct {
		uint32_t before, after;
	} in[LISTS]; /* after in BY_AGE of a free entry: the next free one */
};

struct waiting {
	size_t limit;
	vec(struct entry) entries;
	uint32_t free; /* the first one; 0: none */
	struct list all;
	struct map processes; /* struct list, by pid */
	struct map hashes;    /* by hash */
	struct waiting_counts counts;
};

int waiting_new(size_t limit, struct waiting **result)
{
	struct waiting *waiting;

	if (!limit || limit > WAITING_MAX)
		return -EINVAL;
	waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	waiting->limit = limit;
	*result = waiting;
	return 0;
}

void waiting_free(struct waiting *waiting)
{
	if (!waiting)
		return;
	vec_free(&waiting->entries);
	map_free(&waiting->processes);
	map_free(&waiting->hashes);
	free(waiting);
}

static struct entry *entry_at(struct waiting *waiting, uint32_t number)
{
	return &waiting->entries.at[number - 1];
}

static uint64_t hash_of(uint32_t pid, uint64_t key)
{
	return hash_u64(key ^ hash_u64(pid));
}

/* Lists lie in maps as one number. */
static struct list list_from(const uint64_t *value)
{
	return value ? (struct list){(uint32_t)(*value >> 32), (uint32_t)*value} : (struct list){0};
}

static void append(struct waiting *waiting, struct list *list, uint32_t number, int kind)
{
	struct entry *entry = entry_at(waiting, number);

	entry->in[kind].before = list->last;
	entry->in[kind].after = 0;
	if (list->last)
		entry_at(waiting, list->last)->in[kind].after = number;
	else
		list->first = number;
	list->last = number;
}

static void cut(struct waiting *waiting, struct list *list, uint32_t number, int kind)
{
	struct entry *entry = entry_at(waiting, number);
	uint32_t before = entry->in[kind].before, after = entry->in[kind].after;

	if (before)
		entry_at(waiting, before)->in[kind].after = after;
	else
		list->first = after;
	if (after)
		entry_at(waiting, after)->in[kind].before = before;
	else
		list->last = before;
}

/* False: no memory; nothing has changed. */
static bool append_in(struct waiting *waiting, struct map *lists, uint64_t key, uint32_t number,
		      int kind)
{
	uint64_t *known = map_get(lists, key);
	struct list list = list_from(known);

	if (!known && !map_put(lists, key, 0))
		return false;
	append(waiting, &list, number, kind);
	*map_get(lists, key) = (uint64_t)list.first << 32 | list.last;
	return true;
}

static void cut_in(struct waiting *waiting, struct map *lists, uint64_t key, uint32_t number,
		   int kind)
{
	uint64_t *known = map_get(lists, key);
	struct list list = list_from(known);

	cut(waiting, &list, number, kind);
	if (list.first)
		*known = (uint64_t)list.first << 32 | list.last;
	else
		map_remove(lists, key);
}

static void put(struct waiting *waiting, uint32_t number)
{
	entry_at(waiting, number)->in[BY_AGE].after = waiting->free;
	waiting->free = number;
}

static void unlink_entry(struct waiting *waiting, uint32_t number)
{
	const struct waiting_half *half = &entry_at(waiting, number)->half;

	cut_in(waiting, &waiting->hashes, hash_of(half->pid, half->key), number, BY_HASH);
	cut_in(waiting, &waiting->processes, half->pid, number, BY_PROCESS);
	cut(waiting, &waiting->all, number, BY_AGE);
	put(waiting, number);
	waiting->counts.now--;
}

static uint32_t find(struct waiting *waiting, uint32_t pid, uint64_t key)
{
	uint32_t number = list_from(map_get(&waiting->hashes, hash_of(pid, key))).first;

	while (number) {
		const struct entry *entry = entry_at(waiting, number);

		if (entry->half.pid == pid && entry->half.key == key)
			return number;
		number = entry->in[BY_HASH].after;
	}
	return 0;
}

/* An entry to be used; 0: no memory. */
static uint32_t get_free(struct waiting *waiting)
{
	uint32_t number = waiting->free;

	if (number) {
		waiting->free = entry_at(waiting, number)->in[BY_AGE].after;
		return number;
	}
	return vec_push(&waiting->entries, (struct entry){0}) ? (uint32_t)waiting->entries.count
							      : 0;
}

void waiting_put(struct waiting *waiting, const struct waiting_half *half)
{
	uint64_t hash = hash_of(half->pid, half->key);
	uint32_t number = find(waiting, half->pid, half->key);

	if (number) {
		unlink_entry(waiting, number);
		waiting->counts.replaced++;
	} else if (waiting->counts.now == waiting->limit) {
		unlink_entry(waiting, waiting->all.first);
		waiting->counts.evicted++;
	}
	number = get_free(waiting);
	if (!number)
		goto refused;
	entry_at(waiting, number)->half = *half;
	if (!append_in(waiting, &waiting->hashes, hash, number, BY_HASH))
		goto no_room;
	if (!append_in(waiting, &waiting->processes, half->pid, number, BY_PROCESS)) {
		cut_in(waiting, &waiting->hashes, hash, number, BY_HASH);
		goto no_room;
	}
	append(waiting, &waiting->all, number, BY_AGE);
	waiting->counts.now++;
	return;
no_room:
	put(waiting, number);
refused:
	waiting->counts.refused++;
}

bool waiting_pop(struct waiting *waiting, uint32_t pid, uint64_t key, struct waiting_half *half)
{
	uint32_t number = find(waiting, pid, key);

	if (!number)
		return false;
	*half = entry_at(waiting, number)->half;
	unlink_entry(waiting, number);
	return true;
}

size_t waiting_forget(struct waiting *waiting, uint32_t pid)
{
	size_t count = 0;
	uint32_t number;

	while ((number = list_from(map_get(&waiting->processes, pid)).first)) {
		unlink_entry(waiting, number);
		count++;
	}
	return count;
}

size_t waiting_empty(struct waiting *waiting,
		     void (*each)(void *context, const struct waiting_half *half), void *context)
{
	size_t count = 0;

	while (waiting->all.first) {
		struct waiting_half half = entry_at(waiting, waiting->all.first)->half;

		unlink_entry(waiting, waiting->all.first);
		if (each)
			each(context, &half);
		count++;
	}
	return count;
}

void waiting_each(struct waiting *waiting, uint32_t pid,
		  void (*each)(void *context, struct waiting_half *half), void *context)
{
	int kind = pid ? BY_PROCESS : BY_AGE;
	uint32_t number =
		pid ? list_from(map_get(&waiting->processes, pid)).first : waiting->all.first;

	while (number) {
		struct entry *entry = entry_at(waiting, number);

		number = entry->in[kind].after;
		each(context, &entry->half);
	}
}

struct waiting_counts waiting_counts(const struct waiting *waiting)
{
	return waiting->counts;
}

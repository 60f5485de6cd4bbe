// SPDX-License-Identifier: Apache-2.0
/* What groups by lock or holder have of single waits, which stacks do not say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "query/groups.h"

/* At most this many holders of a lock are named in its row. */
#define HOLDERS_NAMED 3

struct named {
	uint64_t total;
	uint32_t mark; /* 0 and total 0: none */
};

/* Of a group: those who held its lock for longest. */
struct holders {
	struct named at[HOLDERS_NAMED];
	uint32_t more;
};

/* The name of a mark; of what a group is not by: nothing. */
static uint64_t hash_name(const char *name)
{
	return name ? hash_bytes(name, strlen(name)) : 0;
}

static uint64_t key_of(uint32_t group, const char *lock, const char *holder, const char *waker)
{
	const uint64_t parts[] = {group, hash_name(lock), hash_name(holder), hash_name(waker)};

	return hash_bytes(parts, sizeof(parts));
}

static uint32_t group_id(const struct group *group, const struct film *film)
{
	if (group->thread)
		return (uint32_t)(group->thread - film->threads);
	return group->process ? (uint32_t)(group->process - film->processes) : 0;
}

static void add_holder(struct holders *holders, const struct lock_row *row)
{
	struct named named = {row->total, row->holder};

	for (size_t i = 0; i < HOLDERS_NAMED; i++) {
		struct named *at = &holders->at[i], before = *at;

		if (named.total <= before.total)
			continue;
		*at = named;
		named = before;
	}
	holders->more += named.total != 0;
}

/* "[owner: flusher (12)]" without its brackets */
static void put_name(struct buf *words, const char *mark)
{
	size_t length = strlen(mark);

	if (length > 2 && *mark == '[')
		buf_put(words, mark + 1, length - 2);
	else
		buf_put(words, mark, length);
}

static int name_holders(struct group *group, const struct view *view, const struct holders *holders)
{
	struct buf words = {0};

	for (size_t i = 0; i < HOLDERS_NAMED && holders->at[i].total; i++) {
		buf_printf(&words, "%s", i ? ", " : "");
		put_name(&words, view->marks.at[holders->at[i].mark]);
	}
	if (holders->more)
		buf_printf(&words, ", and %u more", holders->more);
	buf_put_u8(&words, 0);
	if (words.failed) {
		buf_free(&words);
		return -ENOMEM;
	}
	group->holders = (char *)words.at;
	return 0;
}

int groups_add_locks(struct groups *groups, const struct view *view)
{
	const struct group *first = groups->count ? groups->at : NULL;
	bool by_lock = first && first->lock, by_holder = first && first->holder;
	bool by_waker = first && first->waker;
	struct holders *holders;
	struct map of = {0};
	int err = 0;

	if (!view->locks.count || (!by_lock && !by_holder))
		return 0;
	holders = calloc(groups->count, sizeof(*holders));
	if (!holders)
		return -ENOMEM;
	for (size_t i = 0; !err && i < groups->count; i++) {
		const struct group *group = &groups->at[i];
		uint64_t key =
			key_of(group_id(group, view->film), by_lock ? group->lock->name : NULL,
			       by_holder ? group->holder->name : NULL,
			       by_waker ? group->waker->name : NULL);

		err = map_put(&of, key, i) ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < view->locks.count; i++) {
		const struct lock_row *row = &view->locks.at[i];
		const uint64_t *found =
			map_get(&of, key_of(row->group, by_lock ? view->marks.at[row->lock] : NULL,
					    by_holder ? view->marks.at[row->holder] : NULL,
					    by_waker ? view->marks.at[row->waker] : NULL));
		struct group *group = found ? &groups->at[*found] : NULL;

		if (!group)
			continue;
		group->waits += row->waits;
		if (row->longest > group->longest)
			group->longest = row->longest;
		add_holder(&holders[*found], row);
	}
	for (size_t i = 0; !err && by_lock && !by_holder && i < groups->count; i++)
		err = name_holders(&groups->at[i], view, &holders[i]);
	map_free(&of);
	free(holders);
	return err;
}

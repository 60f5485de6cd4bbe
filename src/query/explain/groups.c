// SPDX-License-Identifier: Apache-2.0
#include "query/explain/groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static size_t length_without_number(const char *name)
{
	size_t length = strlen(name);

	while (length && strchr("0123456789", name[length - 1]))
		length--;
	/* a name that is a number only is one */
	return length ? length : strlen(name);
}

static uint64_t key_of(const struct film *film, uint32_t thread)
{
	const char *name = film->threads[thread].comm;
	uint64_t key[] = {hash_bytes(name, length_without_number(name)),
			  film->threads[thread].process};

	return hash_bytes(key, sizeof(key));
}

/* A poll of which it is known for what it waited is not idle, and one for a turn to accept is. */
static unsigned int kind_of(const struct slice *slice)
{
	if (slice->kind == SLICE_WAIT + WAIT_POLL && !history_is_idle(slice))
		return SLICE_WAIT + WAIT_RECEIVE;
	return slice->flags & HISTORY_ACCEPTS ? SLICE_WAIT + WAIT_ACCEPT : slice->kind;
}

static void add(struct explain_group *group, const struct explainer *e,
		const struct explain_choice *choice)
{
	const struct histories *histories = &e->histories;
	size_t next = histories->first[choice->thread + 1];

	group->threads++;
	group->life += choice->life;
	group->worth += choice->worth;
	for (size_t i = histories->first[choice->thread]; i < next; i++) {
		const struct slice *slice = &histories->slices[i];
		uint64_t length = slice->end - slice->start;

		group->ns[kind_of(slice)] += length;
		group->conditions += slice_is_for_condition(slice) ? length : 0;
	}
}

static int worthiest_first(const void *left, const void *right)
{
	const struct explain_group *a = left, *b = right;

	if (a->worth != b->worth)
		return a->worth > b->worth ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

int explain_group(struct explain_groups *groups, const struct explainer *e,
		  const struct explain_choice *choices, size_t count)
{
	struct map known = {0};
	int err = 0;

	*groups = (struct explain_groups){0};
	for (size_t i = 0; i < count; i++) {
		uint32_t thread = choices[i].thread;
		struct explain_group group = {e->film->threads[thread].process, thread};
		uint64_t key = key_of(e->film, thread);
		const uint64_t *place = map_get(&known, key);

		if (!place && (!vec_push(&groups->all, group) ||
			       !map_put(&known, key, groups->all.count - 1))) {
			err = -ENOMEM;
			break;
		}
		add(&groups->all.at[place ? *place : groups->all.count - 1], e, &choices[i]);
	}
	map_free(&known);
	if (groups->all.count)
		qsort(groups->all.at, groups->all.count, sizeof(*groups->all.at), worthiest_first);
	return err;
}

void explain_groups_free(struct explain_groups *groups)
{
	vec_free(&groups->all);
}

void explain_group_name(const struct film *film, const struct explain_group *group, char *to,
			size_t size)
{
	const char *name = film->threads[group->thread].comm;

	if (group->threads == 1)
		snprintf(to, size, "%s", name);
	else
		snprintf(to, size, "%.*s%s", (int)length_without_number(name), name,
			 length_without_number(name) < strlen(name) ? "*" : "");
}

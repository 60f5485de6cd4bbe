// SPDX-License-Identifier: Apache-2.0
/* The other threads that waited for disks while a thread did. */
#include "query/explain/disk.h"

#include <string.h>

bool explain_is_of_disk(const struct slice *slice)
{
	/* threads of the kernel write what others gave them */
	return slice->kind == SLICE_WAIT + WAIT_DISK &&
	       !(slice->flags & (FILM_WAIT_KERNEL | HISTORY_FUSE | HISTORY_BY_PROCESS));
}

/* Of two waits: false where they are known to be for different disks. */
static bool may_be_same(const struct film *film, const struct slice *a, const struct slice *b)
{
	const char *one = object_disk(film, a->object), *other = object_disk(film, b->object);

	return !*one || !*other || !strcmp(one, other);
}

/* A wait of another thread: its part within the waits of the thread that is explained. */
static uint64_t common(const struct explainer *e, const struct explanation *x,
		       const struct slice *other)
{
	const struct histories *h = &e->histories;
	uint64_t from = other->start > x->from ? other->start : x->from;
	uint64_t to = other->end < x->to ? other->end : x->to, sum = 0;
	size_t i = histories_find(h, x->thread, from);

	if (i == HISTORY_NONE)
		i = h->first[x->thread];
	for (; i < h->first[x->thread + 1] && h->slices[i].start < to; i++) {
		const struct slice *own = &h->slices[i];
		uint64_t start = own->start > from ? own->start : from;
		uint64_t end = own->end < to ? own->end : to;

		if (explain_is_of_disk(own) && end > start && may_be_same(e->film, own, other))
			sum += end - start;
	}
	return sum;
}

static struct explain_disk_user user_of(const struct explainer *e, const struct explanation *x,
					uint32_t thread)
{
	const struct histories *h = &e->histories;
	struct explain_disk_user user = {.thread = thread, .slice = HISTORY_NONE};
	size_t i = histories_find(h, thread, x->from);
	uint64_t longest = 0;

	if (i == HISTORY_NONE)
		i = h->first[thread];
	for (; i < h->first[thread + 1] && h->slices[i].start < x->to; i++) {
		uint64_t ns = explain_is_of_disk(&h->slices[i]) ? common(e, x, &h->slices[i]) : 0;

		user.ns += ns;
		if (ns > longest) {
			longest = ns;
			user.slice = i;
		}
	}
	return user;
}

static void keep(struct explain_disk_users *users, struct explain_disk_user user)
{
	for (unsigned int i = 0; i < EXPLAIN_NAMED; i++) {
		struct explain_disk_user longer = users->all[i];

		if (longer.ns >= user.ns)
			continue;
		users->all[i] = user;
		user = longer;
	}
}

void explain_disk_users(const struct explainer *e, const struct explanation *x,
			struct explain_disk_users *users)
{
	const struct histories *h = &e->histories;
	uint32_t part = x->first;

	*users = (struct explain_disk_users){.disk = ""};
	/* that others had the CPUs says nothing of disks */
	while (part && !slice_is_wait(x->parts.at[part - 1].kind))
		part = x->parts.at[part - 1].next;
	if (!part || x->parts.at[part - 1].kind != SLICE_WAIT + WAIT_DISK ||
	    x->parts.at[part - 1].slice == HISTORY_NONE ||
	    !explain_is_of_disk(&h->slices[x->parts.at[part - 1].slice]))
		return;
	users->disk = object_disk(e->film, h->slices[x->parts.at[part - 1].slice].object);
	for (uint32_t thread = 1; thread < h->film->thread_count; thread++)
		if (thread != x->thread)
			keep(users, user_of(e, x, thread));
	while (users->count < EXPLAIN_NAMED && users->all[users->count].ns)
		users->count++;
}

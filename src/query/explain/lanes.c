// SPDX-License-Identifier: Apache-2.0
#include "query/explain/lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film/events.h"
#include "query/wait_class.h"

struct loader {
	struct explain_lanes *lanes;
	struct explainer *e;
	struct filter_kept kept;
	struct wait_classes classes;
};

/* What waits are summed up by. */
struct alike {
	uint32_t process, class, waits, wakes;
};

/* The program's own function of a stack; 0: there is none. */
static uint32_t own_function(struct explainer *e, uint32_t stack)
{
	const struct explain_stacks *stacks = &e->stacks;
	uint32_t own = explain_stack_own(&e->stacks, stack);

	return own ? explain_stack_function(stacks, own) : 0;
}

static struct lane_wait *wait_of(struct loader *l, const struct alike *alike)
{
	struct explain_lanes *lanes = l->lanes;
	uint64_t key = hash_bytes(alike, sizeof(*alike));
	const uint64_t *known = map_get(&lanes->of_key, key);
	struct lane_wait wait = {.process = alike->process, .class = (uint8_t)alike->class};

	if (known)
		return &lanes->all.at[*known];
	if (!vec_push(&lanes->all, wait) || !map_put(&lanes->of_key, key, lanes->all.count - 1))
		return NULL;
	return vec_last(&lanes->all);
}

static int add_waits(void *context, const struct film_waits *waits)
{
	struct loader *l = context;

	for (size_t i = 0; i < waits->count; i++) {
		struct alike alike = {
			.process = l->e->film->threads[waits->thread[i]].process,
			.class = wait_class_of(&l->classes, waits, i),
			.waits = own_function(l->e, waits->stack[i]),
			.wakes = own_function(l->e, waits->waker_stack[i]),
		};
		struct lane_wait *wait;

		if (!l->kept.threads[waits->thread[i]])
			continue;
		wait = wait_of(l, &alike);
		if (!wait)
			return -ENOMEM;
		if (!wait->count || waits->duration[i] > wait->longest) {
			wait->longest = waits->duration[i];
			wait->stack = waits->stack[i];
			wait->waker_stack = waits->waker_stack[i];
		}
		wait->total += waits->duration[i];
		wait->count += waits->count_of[i];
	}
	return 0;
}

static bool is_of_others(const struct lane_wait *wait)
{
	return wait->class != WAIT_SLEEP && wait->class != WAIT_NETWORK;
}

static int most_first(const void *left, const void *right)
{
	const struct lane_wait *a = left, *b = right;

	if (is_of_others(a) != is_of_others(b))
		return is_of_others(a) ? -1 : 1;
	return a->total > b->total ? -1 : a->total < b->total;
}

int explain_lanes_load(struct explain_lanes *lanes, struct explainer *e,
		       const struct filter *filter, struct fail *why)
{
	struct loader l = {.lanes = lanes, .e = e};
	uint32_t event = film_find_event(e->film, event_type(EVENT_GO_WAIT)->name);
	int err;

	*lanes = (struct explain_lanes){0};
	if (!event || !film_has_waits(e->film, event))
		return 0;
	err = filter_apply(filter, e->film, &l.kept, why);
	if (!err)
		err = wait_classes_init(&l.classes, e->film);
	if (!err)
		err = film_each_waits(e->film, event, e->from, e->to, add_waits, &l, why);
	wait_classes_free(&l.classes);
	filter_kept_free(&l.kept);
	if (lanes->all.count)
		qsort(lanes->all.at, lanes->all.count, sizeof(*lanes->all.at), most_first);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot read the waits of goroutines")
			      : err;
}

void explain_lanes_free(struct explain_lanes *lanes)
{
	vec_free(&lanes->all);
	map_free(&lanes->of_key);
}

void lane_wait_text(const struct film *film, enum wait_class class, uint32_t stack, char *words,
		    size_t size)
{
	/* since 1.24 a mutex is of the second one */
	static const char package[] = "sync.(*", internal[] = "internal/";

	snprintf(words, size, "%s", wait_class_name(class));
	for (uint32_t at = stack; at; at = film->stacks[at].parent) {
		const char *name =
			film->functions[film->frames[film->stacks[at].frame].function].name;
		const char *type;

		if (!strncmp(name, internal, sizeof(internal) - 1))
			name += sizeof(internal) - 1;
		type = name + sizeof(package) - 1;
		if (strncmp(name, package, sizeof(package) - 1) || !strchr(type, ')'))
			continue;
		snprintf(words, size, "sync.%.*s", (int)strcspn(type, ")"), type);
		return;
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "film/ordered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "film/writing.h"

/* What is made before anything of the batch is changed. */
struct ordering {
	struct film_batch *batch;
	uint32_t *by_place;    /* ids of frames, in their new order */
	uint32_t *by_parent;   /* ids of stacks: those of a parent lie side by side */
	uint32_t *first_child; /* by id of a stack: where its children begin in by_parent */
	uint32_t *waiting;     /* stacks that are to be gone through, the next one last */
	uint32_t *functions;   /* the new ids by the old ones */
	struct film_ordered *to;
	/* the tables in their new order, and w->kinds */
	struct film_function *new_functions;
	struct film_place *new_frames;
	struct film_stack *new_stacks;
	uint32_t *new_kinds;
};

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_place(const void *a, const void *b, void *context)
{
	const struct film_place *frames = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct film_place *x = &frames[i - 1], *y = &frames[k - 1];

	if (x->image != y->image)
		return compare(x->image, y->image);
	if (x->kind != y->kind)
		return compare(x->kind, y->kind);
	return x->address != y->address ? compare(x->address, y->address) : compare(i, k);
}

/* Of those of one parent the last one first: they are put where the last one is fetched first. */
static int by_parent(const void *a, const void *b, void *context)
{
	const struct ordering *o = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct film_stack *x = &o->batch->stacks.at[i - 1], *y = &o->batch->stacks.at[k - 1];

	if (x->parent != y->parent)
		return compare(x->parent, y->parent);
	if (x->frame != y->frame)
		return compare(o->to->frames[y->frame], o->to->frames[x->frame]);
	return compare(k, i);
}

static void order_frames(struct ordering *o)
{
	size_t count = o->batch->frames.count;

	for (size_t i = 0; i < count; i++)
		o->by_place[i] = (uint32_t)i + 1;
	qsort_r(o->by_place, count, sizeof(*o->by_place), by_place, o->batch->frames.at);
	for (size_t i = 0; i < count; i++)
		o->to->frames[o->by_place[i]] = (uint32_t)i + 1;
}

/* By frame and depth; the last call first, which is the one that counts. */
static int by_frame(const void *a, const void *b)
{
	const struct film_named *x = a, *y = b;

	if (x->row.frame != y->row.frame)
		return compare(x->row.frame, y->row.frame);
	if (x->call != y->call)
		return compare(y->call, x->call);
	return compare(x->row.depth, y->row.depth);
}

/* Those that name no frame come last, as they are. */
static void order_functions(struct ordering *o)
{
	uint32_t next = 1;

	vec_foreach (&o->batch->names, named)
		named->row.frame = o->to->frames[named->row.frame];
	if (o->batch->names.count)
		qsort(o->batch->names.at, o->batch->names.count, sizeof(*o->batch->names.at),
		      by_frame);
	vec_foreach (&o->batch->names, named) {
		uint32_t *id = &o->functions[named->row.function];

		if (named->row.function && !*id)
			*id = next++;
		named->row.function = *id;
	}
	for (size_t i = 1; i <= o->batch->functions.count; i++)
		if (!o->functions[i])
			o->functions[i] = next++;
}

/* Puts the children of a stack where they wait; how many wait then. */
static size_t let_wait(struct ordering *o, uint32_t parent, size_t waiting)
{
	size_t at = o->first_child[parent], count = o->batch->stacks.count;

	for (; at < count && o->batch->stacks.at[o->by_parent[at] - 1].parent == parent; at++)
		o->waiting[waiting++] = o->by_parent[at];
	return waiting;
}

static void order_stacks(struct ordering *o)
{
	size_t count = o->batch->stacks.count, waiting;
	uint32_t next = 1;

	for (size_t i = 0; i < count; i++)
		o->by_parent[i] = (uint32_t)i + 1;
	qsort_r(o->by_parent, count, sizeof(*o->by_parent), by_parent, o);
	for (size_t i = 0; i <= count; i++)
		o->first_child[i] = (uint32_t)count;
	for (size_t i = count; i-- > 0;)
		o->first_child[o->batch->stacks.at[o->by_parent[i] - 1].parent] = (uint32_t)i;
	for (waiting = let_wait(o, 0, 0); waiting;) {
		uint32_t stack = o->waiting[--waiting];

		o->to->stacks[stack] = next++;
		waiting = let_wait(o, stack, waiting);
	}
}

static bool make_room(struct ordering *o)
{
	size_t functions = o->batch->functions.count + 1, frames = o->batch->frames.count + 1;
	size_t stacks = o->batch->stacks.count + 1;

	o->to->frame_count = (uint32_t)frames;
	o->to->stack_count = (uint32_t)stacks;
	o->to->frames = calloc(frames, sizeof(*o->to->frames));
	o->to->stacks = calloc(stacks, sizeof(*o->to->stacks));
	o->by_place = malloc(frames * sizeof(*o->by_place));
	o->by_parent = malloc(stacks * sizeof(*o->by_parent));
	o->first_child = malloc(stacks * sizeof(*o->first_child));
	o->waiting = malloc(stacks * sizeof(*o->waiting));
	o->functions = calloc(functions, sizeof(*o->functions));
	o->new_functions = malloc(functions * sizeof(*o->new_functions));
	o->new_frames = malloc(frames * sizeof(*o->new_frames));
	o->new_stacks = malloc(stacks * sizeof(*o->new_stacks));
	o->new_kinds = calloc(frames, sizeof(*o->new_kinds));
	return o->to->frames && o->to->stacks && o->by_place && o->by_parent && o->first_child &&
	       o->waiting && o->functions && o->new_functions && o->new_frames && o->new_stacks &&
	       o->new_kinds;
}

/* Moves the rows to where their new ids are. */
static void move_rows(struct ordering *o, struct film_writer *w)
{
	struct film_batch *batch = o->batch;
	size_t functions = batch->functions.count, frames = batch->frames.count;
	size_t stacks = batch->stacks.count;

	for (size_t i = 1; i <= functions; i++)
		o->new_functions[o->functions[i] - 1] = batch->functions.at[i - 1];
	for (size_t i = 1; i <= frames; i++) {
		o->new_frames[o->to->frames[i] - 1] = batch->frames.at[i - 1];
		o->new_kinds[o->to->frames[i]] = w->kinds.at[i];
	}
	for (size_t i = 1; i <= stacks; i++) {
		struct film_stack stack = batch->stacks.at[i - 1];

		stack.parent = o->to->stacks[stack.parent];
		stack.frame = o->to->frames[stack.frame];
		o->new_stacks[o->to->stacks[i] - 1] = stack;
	}
	vec_foreach (&batch->starts, started)
		started->row.frame = o->to->frames[started->row.frame];
	if (functions)
		memcpy(batch->functions.at, o->new_functions,
		       functions * sizeof(*o->new_functions));
	if (frames)
		memcpy(batch->frames.at, o->new_frames, frames * sizeof(*o->new_frames));
	if (frames)
		memcpy(w->kinds.at + 1, o->new_kinds + 1, frames * sizeof(*o->new_kinds));
	if (stacks)
		memcpy(batch->stacks.at, o->new_stacks, stacks * sizeof(*o->new_stacks));
}

static void ordering_free(struct ordering *o)
{
	free(o->by_place);
	free(o->by_parent);
	free(o->first_child);
	free(o->waiting);
	free(o->functions);
	free(o->new_functions);
	free(o->new_frames);
	free(o->new_stacks);
	free(o->new_kinds);
}

int film_order(struct film_writer *w, struct film_ordered *ordered)
{
	struct ordering o = {.batch = w->batch, .to = ordered};
	int err = make_room(&o) ? 0 : -ENOMEM;

	if (!err) {
		order_frames(&o);
		order_functions(&o);
		order_stacks(&o);
		move_rows(&o, w);
		/* they know the old ids, and memory is worth more by now */
		known_clear(&w->known_functions);
		known_clear(&w->known_frames);
		known_clear(&w->known_stacks);
	} else {
		film_ordered_free(ordered);
	}
	ordering_free(&o);
	return err;
}

void film_ordered_free(struct film_ordered *ordered)
{
	free(ordered->frames);
	free(ordered->stacks);
	*ordered = (struct film_ordered){0};
}

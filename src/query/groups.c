// SPDX-License-Identifier: Apache-2.0
#include "query/groups.h"

#include <errno.h>
#include <string.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int most_self_first(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	int order = compare_numbers(b->self, a->self);

	if (!order)
		order = compare_numbers(b->total, a->total);
	if (!order && a->process)
		order = compare_numbers(a->process->pid, b->process->pid);
	if (!order && a->thread)
		order = compare_numbers(a->thread->tid, b->thread->tid);
	if (!order && a->cpu)
		order = strcmp(a->cpu->name, b->cpu->name);
	if (!order && a->endpoint)
		order = strcmp(a->endpoint->name, b->endpoint->name);
	if (!order && a->wait)
		order = strcmp(a->wait->name, b->wait->name);
	if (!order && a->waker)
		order = strcmp(a->waker->name, b->waker->name);
	if (!order && a->lock)
		order = strcmp(a->lock->name, b->lock->name);
	if (!order && a->holder)
		order = strcmp(a->holder->name, b->holder->name);
	if (!order && a->image)
		order = strcmp(a->image->image, b->image->image);
	return order || !a->image ? order : strcmp(a->image->name, b->image->name);
}

/* number: of a group of the tree, plus one; 0: the whole tree. */
static struct group new_group(const struct tree *tree, const struct film *film, uint32_t number)
{
	const struct tree_group *of = number ? &tree->groups.at[number - 1] : NULL;
	struct group group = {
		.process = of ? &film->processes[of->process] : NULL,
		.thread = of && tree->shape.by_thread ? &film->threads[of->thread] : NULL,
	};

	group.processes_key = of ? shape_process_key(&tree->shape) : NULL;
	if (group.processes_key) {
		const struct tree_node *node = &tree->nodes.at[of->node];

		/* a thread stands below its processes */
		if (tree->shape.by_thread)
			node = &tree->nodes.at[node->parent];
		group.processes = tree->labels.all.at[node->label].name;
	}
	return group;
}

static int add_whole_groups(const struct tree *tree, const struct film *film, struct groups *groups)
{
	for (uint32_t i = 0; i < tree->groups.count; i++) {
		const struct tree_group *of = &tree->groups.at[i];
		struct group group = new_group(tree, film, i + 1);

		group.samples = of->samples;
		group.self = group.total = tree->nodes.at[of->node].total[TREE_NOW];
		if (!vec_push(groups, group))
			return -ENOMEM;
	}
	return 0;
}

/* The images of the group that is being walked, by label. */
struct images {
	struct place {
		size_t row;
		uint32_t seen_in; /* the number of the part for which row holds */
		uint32_t open;	  /* how often it stands on the path to the node */
	} * of;
	uint32_t path[TREE_DEPTH_MAX + 1];
	uint32_t length;
};

static bool add_node(struct images *images, const struct tree_node *node, const struct group *empty,
		     uint32_t part, struct groups *groups)
{
	struct place *place = &images->of[node->label];

	if (place->seen_in != part) {
		if (!vec_push(groups, *empty))
			return false;
		place->row = groups->count - 1;
		place->seen_in = part;
	}
	groups->at[place->row].self += node->self[TREE_NOW];
	if (!place->open)
		groups->at[place->row].total += node->total[TREE_NOW];
	return true;
}

/* The depth of the innermost groups. */
static uint32_t groups_depth(const struct tree *tree)
{
	return tree->groups.count ? tree->nodes.at[tree->groups.at[0].node].depth : 0;
}

/*
 * The nodes of a group, and of a CPU in it, follow one another in a walk, so that one set of places
 * serves all these parts.
 */
static int add_images(const struct tree *tree, const struct film *film, const struct flame *flame,
		      struct images *images, struct groups *groups)
{
	const uint32_t cpu_depth = tree->shape.by_cpu ? groups_depth(tree) + 1 : UINT32_MAX;
	uint32_t node = 0, depth = 0, number = 0, part = 1;
	const struct label *cpu = NULL;

	do {
		const struct tree_node *at = &tree->nodes.at[node];
		struct group group;

		while (images->length > depth)
			images->of[images->path[--images->length]].open--;
		if (at->group)
			number = at->group;
		if (depth == cpu_depth)
			cpu = &tree->labels.all.at[at->label];
		part += at->group || depth == cpu_depth;
		group = new_group(tree, film, number);
		group.cpu = cpu;
		group.image = &tree->labels.all.at[at->label];
		/* kind 0: the root and the groups, in which nothing is spent, as in a CPU's mark */
		if (group.image->kind && depth != cpu_depth &&
		    !add_node(images, at, &group, part, groups))
			return -ENOMEM;
		images->of[at->label].open++;
		images->path[images->length++] = at->label;
		node = flame_next(flame, node, &depth);
	} while (node);
	return 0;
}

/*
 * The mark that the node *above is, which becomes its parent; null: none of that kind was asked
 * for.
 */
static const struct label *step_up(const struct tree *tree, bool wanted, uint32_t *above)
{
	const struct tree_node *node = &tree->nodes.at[*above];

	if (!wanted)
		return NULL;
	*above = node->parent;
	return &tree->labels.all.at[node->label];
}

static unsigned int marks_of(const struct shape *shape)
{
	return (unsigned int)shape->by_cpu + shape->by_endpoint + shape->by_wait + shape->by_lock +
	       shape->by_holder + shape->by_waker;
}

/*
 * Marks stand right below a group, or the root where there are none: first the CPU, the endpoint,
 * what waits were for, then the lock, its holder, and what ended them.
 */
static int add_waits(const struct tree *tree, const struct film *film, struct groups *groups)
{
	const struct shape *shape = &tree->shape;
	uint32_t base = groups_depth(tree);

	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		const struct tree_node *node = &tree->nodes.at[i];
		const struct label *cpu, *endpoint, *wait, *lock, *holder, *waker;
		struct group group;
		uint32_t above = i;

		if (node->depth != base + marks_of(shape))
			continue;
		waker = step_up(tree, shape->by_waker, &above);
		holder = step_up(tree, shape->by_holder, &above);
		lock = step_up(tree, shape->by_lock, &above);
		wait = step_up(tree, shape->by_wait, &above);
		endpoint = step_up(tree, shape->by_endpoint, &above);
		cpu = step_up(tree, shape->by_cpu, &above);
		group = new_group(tree, film, tree->nodes.at[above].group);
		group.cpu = cpu;
		group.endpoint = endpoint;
		group.waker = waker;
		group.holder = holder;
		group.lock = lock;
		group.wait = wait;
		group.self = group.total = node->total[TREE_NOW];
		if (!vec_push(groups, group))
			return -ENOMEM;
	}
	return 0;
}

int groups_of(const struct tree *tree, const struct film *film, const struct flame *flame,
	      struct groups *groups)
{
	struct images *images;
	int err = -ENOMEM;

	*groups = (struct groups){0};
	if (!tree->shape.by_image && marks_of(&tree->shape)) {
		err = add_waits(tree, film, groups);
	} else if (!tree->shape.by_image) {
		err = add_whole_groups(tree, film, groups);
	} else {
		images = calloc(1, sizeof(*images));
		if (images)
			images->of = calloc(tree->labels.all.count, sizeof(*images->of));
		if (images && images->of)
			err = add_images(tree, film, flame, images, groups);
		free(images ? images->of : NULL);
		free(images);
	}
	if (!err && groups->count)
		qsort(groups->at, groups->count, sizeof(*groups->at), most_self_first);
	return err;
}

void groups_free(struct groups *groups)
{
	vec_foreach (groups, group) {
		free(group->holders);
		free(group->versions);
		free(group->environments);
	}
	vec_free(groups);
}

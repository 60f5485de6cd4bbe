// SPDX-License-Identifier: Apache-2.0
/*
 * From sums by path to that part of a tree that is shown. A large store has millions of nodes, and
 * a page shows some thousand: nodes and labels are made of those alone, the rest is arithmetic over
 * arrays in the order of the paths' numbers. The result of flame_prune() and functions_first() is
 * the same as what they make of the whole tree.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/ask_private.h"

struct shown {
	const struct dictionary *d;
	struct path_sums *sums;
	const struct store_ask *ask;
	struct store_answer *answer;
	size_t paths, functions; /* of the dictionary, with the unused 0 */
	/* by path; of one that is not plain they belong to its plain one */
	uint64_t *self, *total;
	uint32_t *first, *next; /* children, 0: none */
	/* the parent that is plain, as long as the path has no node: then the node's number */
	uint32_t *place;
	uint8_t *bits;
	/* by function */
	uint64_t *function_self, *function_total;
	uint32_t *open; /* how often it stands on the path to where the walk is */
	uint8_t *function_bits;
	uint32_t *labels;
};

enum {
	IS_NODE = 1,
	IS_GUESS = 2,
	IS_NOT_INLINED = 4,
	IS_SHOWN = 8, /* so may be its children */
};

static bool make_room(struct shown *s)
{
	s->total = calloc(s->paths, sizeof(*s->total));
	s->first = calloc(s->paths, sizeof(*s->first));
	s->next = calloc(s->paths, sizeof(*s->next));
	s->bits = calloc(s->paths, sizeof(*s->bits));
	s->function_self = calloc(s->functions, sizeof(*s->function_self));
	s->function_total = calloc(s->functions, sizeof(*s->function_total));
	s->open = calloc(s->functions, sizeof(*s->open));
	s->function_bits = calloc(s->functions, sizeof(*s->function_bits));
	s->labels = calloc(s->functions, sizeof(*s->labels));
	return s->total && s->first && s->next && s->bits && s->function_self &&
	       s->function_total && s->open && s->function_bits && s->labels;
}

static void free_room(struct shown *s)
{
	free(s->total);
	free(s->first);
	free(s->next);
	free(s->bits);
	free(s->function_self);
	free(s->function_total);
	free(s->open);
	free(s->function_bits);
	free(s->labels);
}

static uint32_t parent_of(const struct shown *s, const struct dictionary_path *path)
{
	return dictionary_path_at(s->d, path->parent)->plain;
}

/*
 * Sums up. A path comes behind its parent and behind its plain one, so that each is complete when
 * it is reached.
 */
static void add_up(struct shown *s)
{
	const uint8_t *seen = s->sums->seen;

	for (size_t i = s->paths; i-- > 1;) {
		const struct dictionary_path *path;
		uint32_t parent;
		uint8_t how = 0;

		if (!seen[i])
			continue;
		path = dictionary_path_at(s->d, (uint32_t)i);
		if (seen[i] & SEEN_SELF)
			how = (path->flags & PATH_GUESS ? IS_GUESS : 0) |
			      (path->flags & PATH_INLINED ? 0 : IS_NOT_INLINED);
		s->bits[path->plain] |= how;
		if (path->plain != i) {
			s->self[path->plain] += s->self[i];
			s->self[i] = 0;
			continue;
		}
		s->bits[i] |= IS_NODE;
		s->total[i] += s->self[i];
		parent = path->parent ? parent_of(s, path) : 0;
		s->place[i] = parent;
		s->total[parent] += s->total[i];
		s->next[i] = s->first[parent];
		s->first[parent] = (uint32_t)i;
	}
	s->bits[0] |= IS_NODE;
}

/* The least of the largest that are wanted, of those that are there. */
static uint64_t least_of(const uint64_t *keys, const uint8_t *bits, size_t count, size_t wanted)
{
	uint64_t prefix = 0, mask = 0, all = 0;

	for (size_t i = 0; i < count; i++)
		all += bits[i] & IS_NODE;
	if (all <= wanted)
		return 0;
	for (int shift = 56; shift >= 0; shift -= 8) {
		size_t found[256] = {0};
		unsigned int byte = 255;

		for (size_t i = 0; i < count; i++)
			if ((bits[i] & IS_NODE) && (keys[i] & mask) == prefix)
				found[keys[i] >> shift & 255]++;
		while (found[byte] < wanted)
			wanted -= found[byte--];
		prefix |= (uint64_t)byte << shift;
		mask |= 255ull << shift;
	}
	return prefix;
}

/* Adds a node to its function, where the walk comes to it. */
static void enter(struct shown *s, uint32_t node)
{
	uint32_t f = dictionary_path_at(s->d, node)->function;

	s->function_self[f] += s->self[node];
	if (!s->open[f]++)
		s->function_total[f] += s->total[node];
	s->function_bits[f] |= s->bits[node] & (IS_NODE | IS_GUESS);
}

static uint32_t leave(struct shown *s, uint32_t node)
{
	s->open[dictionary_path_at(s->d, node)->function]--;
	return s->place[node];
}

/* Depth first, so that a function that stands on a path several times counts once. */
static void add_functions(struct shown *s)
{
	uint32_t node = s->first[0];

	while (node) {
		enter(s, node);
		if (s->first[node]) {
			node = s->first[node];
			continue;
		}
		while (node && !s->next[node])
			node = leave(s, node);
		if (node) {
			leave(s, node);
			node = s->next[node];
		}
	}
}

/* All that is as large as the last that is shown, by self or by total. */
static int put_functions(struct shown *s)
{
	struct functions *functions = &s->answer->functions;
	struct tree *tree = &s->answer->tree;
	size_t most = s->ask->functions_max, count = 0;
	uint64_t self = least_of(s->function_self, s->function_bits, s->functions, most);
	uint64_t total = least_of(s->function_total, s->function_bits, s->functions, most);

	for (size_t i = 1; i < s->functions; i++) {
		if (!(s->function_bits[i] & IS_NODE))
			continue;
		if (s->function_self[i] < self && s->function_total[i] < total) {
			functions->left_out += s->function_self[i];
			s->function_bits[i] = 0;
			continue;
		}
		if (paths_label(s->d, tree, s->labels, (uint32_t)i) == LABEL_NONE)
			return -ENOMEM;
		count++;
	}
	functions->at = calloc(count + 1, sizeof(*functions->at));
	if (!functions->at)
		return -ENOMEM;
	for (size_t i = 1; i < s->functions; i++) {
		struct function *row = &functions->at[functions->count];

		if (!(s->function_bits[i] & IS_NODE))
			continue;
		row->label = &tree->labels.all.at[s->labels[i] - 1];
		row->guess = s->function_bits[i] & IS_GUESS;
		row->self[TREE_NOW] = s->function_self[i];
		row->total[TREE_NOW] = s->function_total[i];
		functions->count++;
	}
	return 0;
}

static bool push(struct shown *s, uint32_t i, uint32_t parent, bool is_shown)
{
	struct tree *tree = &s->answer->tree;
	const struct dictionary_path *path = dictionary_path_at(s->d, i);
	uint32_t label = paths_label(s->d, tree, s->labels, path->function);
	const struct tree_node node = {
		.parent = parent,
		.label = label,
		.depth = tree->nodes.at[parent].depth + 1,
		.guess = s->bits[i] & IS_GUESS,
		.inlined = !(s->bits[i] & IS_NOT_INLINED),
		/* of what is not shown, its children's too */
		.self = {is_shown ? s->self[i] : s->total[i]},
	};

	s->place[i] = (uint32_t)tree->nodes.count;
	return label != LABEL_NONE && vec_push(&tree->nodes, node);
}

/* The nodes that are shown, and their children, which become marks of what is smaller. */
static int put_nodes(struct shown *s)
{
	uint64_t least = least_of(s->total, s->bits, s->paths, s->ask->nodes_max);

	s->place[0] = 0;
	s->bits[0] |= IS_SHOWN;
	for (uint32_t i = 1; i < s->paths; i++) {
		uint32_t parent;

		if (!(s->bits[i] & IS_NODE))
			continue;
		parent = s->place[i];
		if (!(s->bits[parent] & IS_SHOWN)) {
			s->answer->private->left_out++;
			continue;
		}
		if (s->total[i] >= least)
			s->bits[i] |= IS_SHOWN;
		if (!push(s, i, s->place[parent], s->bits[i] & IS_SHOWN))
			return -ENOMEM;
	}
	return 0;
}

static void set_back(struct shown *s)
{
	uint8_t *seen = s->sums->seen;

	/* most paths belong to other answers: their pages are not touched */
	for (size_t i = 0; i < s->paths; i++) {
		if (!seen[i])
			continue;
		s->self[i] = 0;
		seen[i] = 0;
	}
}

int paths_shown(struct sums_view *view, const struct store_ask *ask, struct store_answer *answer)
{
	struct path_sums *sums = &view->by_path;
	struct shown s = {
		.d = view->dictionary,
		.sums = sums,
		.ask = ask,
		.answer = answer,
		.paths = view->paths,
		.functions = dictionary_readable(&view->dictionary->functions),
		.self = sums->sums[TREE_NOW],
		.place = sums->nodes,
	};
	int err = -ENOMEM;

	answer->private->is_shown = true;
	/* nothing was added: there is no event of that name */
	if (!sums->seen || s.paths > sums->room)
		return 0;
	paths_mark(view);
	if (make_room(&s)) {
		add_up(&s);
		add_functions(&s);
		err = put_nodes(&s);
	}
	if (!err)
		err = put_functions(&s);
	if (err)
		sums_drop(sums);
	else
		set_back(&s);
	free_room(&s);
	return err;
}
